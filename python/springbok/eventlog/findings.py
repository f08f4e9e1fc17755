"""What `springbok qualify` says of each application and execution: times, causes, and what speaks against Springbok."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from springbok.eventlog.executions import Application, Execution, Reader
from springbok.eventlog.files import Log, lines
from springbok.eventlog.plan import USER_CODE, Operator, plan
from springbok.eventlog.savings import Expectation, expected

_UNCOUNTED = re.compile(r"Scan (csv|json|text|JDBC)", re.IGNORECASE)
_NATIVE = re.compile(r"Comet|Native|Velox|Gpu|\w+Transformer$")


@dataclass(frozen=True)
class Finding:
    """A SQL execution with joins: wall time in seconds now and from-to with Springbok, and why."""

    execution: int
    description: str
    seconds: float
    expected_seconds: tuple[float, float]
    causes: tuple[str, ...]
    against: tuple[str, ...]

    @property
    def ratios(self) -> tuple[float, float]:
        """How many times faster, from-to."""
        least, most = (max(s, 1e-3) for s in self.expected_seconds)
        return self.seconds / most, self.seconds / least


@dataclass
class Total:
    """An application: its executions that ran stages, wall time of all in seconds, and those with the largest gain."""

    application: Application
    executions: int = 0
    with_joins: int = 0
    already: int = 0
    seconds: float = 0
    expected_seconds: tuple[float, float] = (0.0, 0.0)
    largest: list[Finding] = field(default_factory=list)

    @property
    def gain(self) -> float:
        """Seconds that are saved, in the middle of the range."""
        return self.seconds - sum(self.expected_seconds) / 2

    def add(self, e: Execution) -> Finding | None:
        """Count an execution; one without joins takes as long as now, and has no finding."""
        f = finding(e)
        least, most = f.expected_seconds if f else (e.seconds, e.seconds)
        self.executions += 1
        self.with_joins += f is not None
        self.already += e.springbok
        self.seconds += e.seconds
        self.expected_seconds = (self.expected_seconds[0] + least, self.expected_seconds[1] + most)
        return f


def qualified(logs: Iterable[Log], top: int) -> Iterator[Total]:
    """Each application, with this number of its executions.

    Raises:
        SpringbokError: a log cannot be read.
    """
    for log in logs:
        reader = Reader()
        total = Total(reader.application)
        ran = (e for e in reader.read(lines(log)) if not isinstance(e, str) and e.stages)
        found = (f for e in ran if (f := total.add(e)))
        total.largest = heapq.nlargest(top, found, key=lambda f: f.seconds - sum(f.expected_seconds) / 2)
        yield total


def finding(e: Execution) -> Finding | None:
    """What is expected of an execution; None if it has no equi-join."""
    operators = plan(e)
    joins = [o for o in operators if o.join]
    if not joins:
        return None
    against, hopeless = _against(e, operators, joins)
    x = Expectation(e.seconds, e.seconds) if hopeless else expected(e, operators)
    times = (round(x.least, 3), round(x.most, 3))
    return Finding(e.id, " ".join(e.description.split()), e.seconds, times, tuple(_causes(x)), tuple(against))


def _against(e: Execution, operators: list[Operator], joins: list[Operator]) -> tuple[list[str], bool]:
    """What speaks against Springbok, and whether nothing is to be expected."""
    scans = [o for o in operators if o.table]
    uncounted = [bool(_UNCOUNTED.match(o.name)) for o in scans]
    keys = " ".join(key for o in joins if o.join for pair in o.join.keys for key in pair)
    hopeless = {
        "Springbok planned it already": e.springbok,
        "it failed": e.failed,
        "it is a streaming query, which Springbok leaves alone": e.streaming,
        "another engine executes it": any(_NATIVE.match(o.name) for o in operators),
        "row counts are unknown (CSV, JSON, text, JDBC), so Spark plans it": bool(scans) and all(uncounted),
    }
    notes = {
        "it takes less than a second, most of it to plan and schedule": e.seconds < 1,
        "adaptive execution is off, so there are no runtime filters": not e.adaptive,
        "a key is computed by user code": bool(USER_CODE.search(keys)),
        "row counts of some tables are unknown (CSV, JSON, text, JDBC)": any(uncounted),
        "dynamic partition pruning prunes already": any("dynamicpruning" in o.text for o in scans),
        "cached tables are filtered row by row": any(o.name == "InMemoryTableScan" for o in scans),
    }
    found = hopeless if any(hopeless.values()) else notes
    return [text for text, holds in found.items() if holds], found is hopeless


def _causes(x: Expectation) -> Iterator[str]:
    for f in x.filters:
        share = f"{'at least' if f.counted else 'about'} {1 - f.retained:.0%}"
        tables = ", ".join(sorted({str(o.table) for o in f.scans}))
        yield f"a filter on {_named(f.key)} of {tables} removes {share} of the rows (join {_keys(f.join)})"
    for o, (strategy, build) in x.strategies.items():
        yield f"the sort-merge join {_keys(o)} becomes {strategy} (build side {build.rows or 0:,.0f} rows)"


def _keys(o: Operator) -> str:
    return " AND ".join(f"{_named(a)} = {_named(b)}" for a, b in (o.join.keys if o.join else ()))


def _named(key: str) -> str:
    """A key without the numbers that Spark gives to attributes."""
    return re.sub(r"#\d+L?", "", key)
