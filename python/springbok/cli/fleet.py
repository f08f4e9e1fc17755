"""`python -m springbok fleet`: what Springbok did, by its reports in event logs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

from springbok.cli.pages import Section, arguments, read, show
from springbok.eventlog.fleet import Compared, Fleet, fleet

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
    found = fleet(read(args.logs))
    data = {"applications": found.applications, "total": found.total, "compared": list(map(asdict, found.compared))}
    show(args, "What Springbok did", list(_sections(found)) if found.applications else [], data)
    return 0


def _sections(found: Fleet) -> Iterator[Section]:
    unread = found.total["unreadable"]
    told = [f"{unread:,} reports have another format: use the package of the jar that wrote them."] if unread else []
    rows = [_cells("all", found.total), *(_cells(name, sums) for name, sums in found.applications.items())]
    yield Section("Applications", told, (*_HEAD, "failures", "application"), rows)
    if both := found.compared:
        slower = sum(c.after > c.before * _SLOWER and c.after - c.before >= _SECONDS for c in both)
        told = [f"{slower:,} of {len(both):,} queries that ran without and with Springbok are slower with it."]
        yield Section("Without and with Springbok", told, _COMPARED, list(map(_compared, both)))


def _cells(name: str, s: Counter[str]) -> tuple[str, ...]:
    changed, used = f"{s['joins_changed']:,} of {s['joins']:,}", f"{s['filters_used']:,} of {s['filters']:,}"
    rows, ms = (s["rows_not_read"], s["rows_removed"]), (s["core_ms"], s["waited_ms"])
    cells = (f"{s['queries']:,}", changed, used, *(f"{n:,}" for n in rows), *(f"{n / 1000:,.1f}" for n in ms))
    return *cells, f"{s['failures']:,}", name


def _compared(c: Compared) -> tuple[str, ...]:
    times = (f"{x:.2f}" for x in (c.before, c.after, c.ratio))
    return f"{c.runs_before:,}", f"{c.runs_after:,}", *times, c.query[:200]
