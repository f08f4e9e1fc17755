"""`python -m springbok fleet`: what Springbok did, by its reports in event logs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from springbok.cli.pages import Section, arguments, show
from springbok.eventlog.fleet import Fleet, fleet

__all__ = ["arguments", "run"]
_HEAD = ("queries", "joins changed", "filters used", "rows not read", "rows removed", "core s saved", "waits s")
_COMPARED = ("runs without", "runs with", "seconds without", "seconds with", "times as fast", "query")
# A query counts as slower if it takes so many times as long, and so many seconds more.
_SLOWER, _SECONDS = 1.05, 0.1


def run(args: argparse.Namespace) -> int:
    """Print the sums of all applications and of each, and the queries that ran without and with Springbok.

    Raises:
        SpringbokError: a log that cannot be read, no log, a path that cannot be written.
    """
    found = fleet(args.logs)
    show(args, "What Springbok did", list(_sections(found)) if found.applications else [], asdict(found))
    return 0


def _sections(found: Fleet) -> Iterator[Section]:
    unread = found.total["unreadable"]
    told = [f"{unread:,} reports have another format: use the package of the jar that wrote them."] if unread else []
    rows = [_cells("all", found.total), *(_cells(name, sums) for name, sums in found.applications.items())]
    yield Section("Applications", told, (*_HEAD, "failures", "application"), rows)
    if both := found.compared:
        slower = sum(c.after > c.before * _SLOWER and c.after - c.before >= _SECONDS for c in both)
        told = [f"{slower:,} of {len(both):,} queries that ran without and with Springbok are slower with it."]
        times = [
            (f"{c.runs_before:,}", f"{c.runs_after:,}", *(f"{x:.2f}" for x in (c.before, c.after, c.ratio)))
            for c in both
        ]
        yield Section(
            "Without and with Springbok",
            told,
            _COMPARED,
            [(*t, c.query[:200]) for t, c in zip(times, both, strict=True)],
        )


def _cells(name: str, s: dict[str, int]) -> tuple[str, ...]:
    changed, used = (
        f"{s[part]:,} of {s[whole]:,}" for part, whole in (("joins_changed", "joins"), ("filters_used", "filters"))
    )
    counts = (f"{s[n]:,}" for n in ("rows_not_read", "rows_removed"))
    times = (f"{s[n] / 1000:,.1f}" for n in ("core_ms", "waited_ms"))
    return f"{s['queries']:,}", changed, used, *counts, *times, f"{s['failures']:,}", name
