"""`python -m springbok qualify`: what Springbok would save, by event logs of applications without it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from springbok.cli import pages
from springbok.eventlog.findings import Finding, Total, qualified

_HEAD = ("query", "seconds", "with Springbok", "times as fast", "what")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    pages.arguments(parser)
    parser.add_argument("--top", type=int, default=20, help="queries of each application that are shown (default: 20)")


def run(args: argparse.Namespace) -> int:
    """Print what is expected of each application and its queries, the largest gain first.

    Raises:
        SpringbokError: a log that cannot be read, no log, a path that cannot be written.
    """
    totals = sorted(qualified(pages.read(args.logs), max(args.top, 1)), key=lambda t: -t.gain)
    sections = [pages.Section(_title(t), list(_told(t)), _HEAD, list(_rows(t.largest))) for t in totals]
    pages.show(args, "What Springbok would save", sections, [asdict(t) for t in totals])
    return 0


def _title(t: Total) -> str:
    a = t.application
    return f"{a.name or 'an application'} {a.id}, Spark {a.spark}"


def _told(t: Total) -> Iterator[str]:
    yield (
        f"{t.executions:,} queries with stages, {t.with_joins:,} of them with joins: {t.seconds:,.1f} s now, "
        f"{_range(t.expected_seconds)} s expected with Springbok."
    )
    if t.already:
        yield f"Springbok planned {t.already:,} of them already."
    if t.application.unfinished:
        yield f"{t.application.unfinished:,} queries have no end in the log and are left out."
    if t.application.damaged > 1:
        yield f"{t.application.damaged:,} lines cannot be read."


def _rows(findings: Iterable[Finding]) -> Iterator[tuple[str, ...]]:
    for f in findings:
        what = "\n".join((f.description[:100], *f.causes, *(f"but {text}" for text in f.against)))
        yield str(f.execution), f"{f.seconds:.1f}", _range(f.expected_seconds), _range(f.ratios, 2), what


def _range(ends: tuple[float, float], digits: int = 1) -> str:
    return " to ".join(f"{x:,.{digits}f}" for x in ends)
