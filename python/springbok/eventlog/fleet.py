"""What `springbok fleet` says: the reports that Springbok wrote into event logs, summed by application."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from springbok.errors import SpringbokError
from springbok.eventlog.executions import Execution, Reader
from springbok.eventlog.files import Log, lines
from springbok.eventlog.plan import plan
from springbok.reports import Report

# Runs of a query that are kept on each side: more would take memory, and change its median little.
_MOST_RUNS = 101
# Characters of a description that tell queries apart.
_LONGEST = 2000
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|\b\d+(?:\.\d+)?\b")


@dataclass(frozen=True)
class Compared:
    """A query that ran without (`before`) and with Springbok (`after`): runs, median seconds, and before / after."""

    query: str
    runs_before: int
    runs_after: int
    before: float
    after: float
    ratio: float


@dataclass(frozen=True)
class Fleet:
    """Sums over the reports of each application and of all, and the queries that ran without and with Springbok.

    `core_ms` is what filters saved by estimate, `waited_ms` what scans waited for them.
    """

    applications: dict[str, Counter[str]]
    total: Counter[str]
    compared: list[Compared]


def fleet(logs: Iterable[Log]) -> Fleet:
    """The reports and the runs of all logs; the queries that are slowest in comparison come first.

    Raises:
        SpringbokError: a log cannot be read.
    """
    applications: dict[str, Counter[str]] = defaultdict(Counter)
    total, compared = Counter[str](), []
    runs: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for log in logs:
        reader, sums = Reader(), Counter[str]()
        for e in reader.read(lines(log)):
            if isinstance(e, str):
                sums.update(_counted(e))
            elif e.stages and not e.failed:
                seconds = runs[query(e)][e.springbok]
                seconds += [e.seconds] if len(seconds) < _MOST_RUNS else []
        applications[f"{reader.application.name} {reader.application.id}".strip() or str(log[0])].update(sums)
        total.update(sums)
    for name, both in runs.items():
        if all(both):
            before, after = map(statistics.median, both)
            compared.append(Compared(name, len(both[0]), len(both[1]), before, after, before / max(after, 1e-3)))
    return Fleet(applications, total, sorted(compared, key=lambda c: c.ratio))


def query(e: Execution) -> str:
    """What the runs of a query have in common: its description without literals, and the columns that it scans."""
    scans = {f"{o.table}({', '.join(o.columns)})" for o in plan(e) if o.table}
    return " ".join((_LITERAL.sub("?", e.description[:_LONGEST]), *sorted(scans)))


def _counted(report: str) -> Counter[str]:
    try:
        r = Report.from_json(report)
    except (SpringbokError, ValueError, KeyError, TypeError):
        return Counter(unreadable=1)
    planned = [(j.spark_strategy, f"{j.strategy}, build {j.build}" if j.build else j.strategy) for j in r.joins]
    used = [f for f in r.filters if f.status == "used"]
    return Counter(
        queries=1,
        joins=len(r.joins),
        joins_changed=sum(None not in both and both[0] != both[1] for both in planned),
        filters=sum(f.id is not None for f in r.filters),
        filters_used=len(used),
        rows_not_read=r.saved.rows_not_read if r.saved else 0,
        rows_removed=sum(f.rows_removed or 0 for f in used),
        core_ms=round(r.saved.core_ms) if r.saved else 0,
        waited_ms=sum(f.waited_ms or 0 for f in used),
        failures=len(r.failures),
    )
