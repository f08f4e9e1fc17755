"""What Springbok is expected to save of an execution, by the rows that were observed and the costs of its own model.

The run time of each stage is split among its operators as the cost model splits it. Runtime filters remove rows that
have no match in a join above, and a sort-merge join becomes the strategy that is cheapest for the rows that are left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from springbok.eventlog.executions import Execution, Stage
from springbok.eventlog.plan import Join, Operator, ways

# ns of one core for a row: FilterCost and OperatorCost of the jar. `undecided` is for operators that they do not know.
_SHUFFLE, _AGGREGATE, _PROBE, _MERGE, _COLLECT = 300, 80, 40, 30, 500
_PROJECT, _TEST, _DECODE, _UNDECIDED = 2, 10, 25, 100
_A_ROW = {"Sort": 300, "Window": 150, "WindowGroupLimit": 150, "Project": 2, "Filter": 2, "Union": 0}
# FilterCost.lookup of a hashed integral key: the most keys, and ns.
_LOOKUPS = ((5e4, 26), (1e6, 66), (float("inf"), 156))
# spark.springbok.join.broadcastBytesLimit, runtimeFilter.minRejection, and the keys that fill the largest bloom filter.
_BROADCAST_BYTES, _LEAST_REJECTED, _MOST_KEYS = 256 << 20, 0.1, 20e6
# A twentieth of runtimeFilter.minBenefitMs, and PlanningBudget.rulesMs of a warm JVM for an operator and for a join.
_LEAST_MS, _OPERATOR_MS, _JOIN_MS = 5, 0.1, 1.5
# ShuffleWriteCost: ns to write a file for each partition, and to sort a row instead, and the partitions that allow it.
_FILE, _SORT_WRITTEN, _PARTITIONS = 600e3, 120, range(101, 201)
_WRITTEN = re.compile(r", (\d+)\), ENSURE_REQUIREMENTS")
# CostConstants.stageNs in s: a stage without rows. The share of the run time that a filter must save to be named.
_STAGE_S, _WORTH_NAMING = 0.033, 0.02
# The types of joins that may build their left or right side; a semi join's left side may be filtered as well.
_BUILD = (
    ("Inner", "Cross", "RightOuter"),
    ("Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti", "ExistenceJoin"),
)


@dataclass(frozen=True)
class Filter:
    """A runtime filter of a join: the key that is filtered, the scans, and the operators that get fewer rows.

    At most the share `retained` of the rows passes if the rows after the join were counted, or else about this share.
    """

    join: Operator
    key: str
    retained: float
    counted: bool
    scans: frozenset[Operator]
    on: frozenset[Operator]


@dataclass(frozen=True)
class Expectation:
    """The least and the most wall time in seconds with Springbok, its filters, and joins with their new strategy."""

    least: float
    most: float
    filters: tuple[Filter, ...] = ()
    strategies: dict[Operator, tuple[str, Operator]] = field(default_factory=dict)


@dataclass
class _Spent:
    """What a fragment took: its tasks, their run time in ms, and the part of it in which they read files."""

    tasks: int = 0
    run_ms: float = 0
    scan_ms: float = 0


@dataclass
class _Model:
    """A plan as it ran, or with filters and other strategies. Costs are in ns of one core."""

    plan: list[Operator]
    spent: dict[int, _Spent]
    few_files: bool = False
    """Whether shuffles of few rows do not write a file for each partition."""
    filters: tuple[Filter, ...] = ()
    retained: dict[Operator, float] = field(default_factory=dict)
    strategies: dict[Operator, tuple[str, Operator]] = field(default_factory=dict)
    gone: frozenset[Operator] = frozenset()

    def rows(self, o: Operator) -> float:
        """Rows that an operator returns, 0 if unknown."""
        return (o.rows or 0) * self.retained.get(o, 1)

    def costs(self) -> dict[int, float]:
        """The cost of each fragment, without reading files."""
        found = dict.fromkeys((o.fragment for o in self.plan), 0.0)
        for o in self.plan:
            if o not in self.gone:
                for fragment, ns in self._of_join(o, o.join) if o.join else self._of(o):
                    found[fragment] += ns
        for scan in (s for f in self.filters for s in f.scans):
            found[scan.fragment] += (scan.rows or 0) * _TEST
        return found

    def _of(self, o: Operator) -> Iterator[tuple[int, float]]:
        below = sum(self.rows(i) for i in o.inputs)
        if o.name == "Exchange":
            yield o.inputs[0].fragment, below * _SHUFFLE / 2
            yield o.fragment, below * _SHUFFLE / 2
        elif o.name == "ReusedExchange":
            yield o.fragment, self.rows(o) * _SHUFFLE / 2
        elif o.name == "BroadcastExchange":
            yield o.inputs[0].fragment, below * _COLLECT
        elif o.table:  # what reads files is measured where Spark reads batches of rows
            yield o.fragment, 0 if "scan time" in o.metrics else (o.rows or 0) * len(o.columns) * _DECODE
        else:
            yield o.fragment, below * (_AGGREGATE if "Aggregate" in o.name else _A_ROW.get(o.name, _UNDECIDED))

    def files_ms(self) -> dict[int, float]:
        """The time that each fragment takes to write a file for each partition, or to sort its rows instead."""
        found: dict[int, float] = {}
        for o in self.plan:
            if (n := _WRITTEN.search(o.text)) and o.name == "Exchange" and int(n[1]) in _PARTITIONS:
                f, sort = o.inputs[0].fragment, self.rows(o.inputs[0]) * _SORT_WRITTEN
                files = self.spent[f].tasks * int(n[1]) * _FILE
                found[f] = (min(files, sort) if self.few_files else files) / 1e6
        return found

    def _of_join(self, o: Operator, j: Join) -> Iterator[tuple[int, float]]:
        strategy, build = self.strategies.get(o, (j.strategy, o.inputs[0 if j.build_left else 1]))
        rows, built = sum(self.rows(i) for i in o.inputs), self.rows(build)
        yield o.fragment, self.rows(o) * _PROJECT
        if strategy != "broadcast hash":
            yield o.fragment, rows * (_MERGE if strategy == "sort-merge" else _PROBE)
            return
        yield o.fragment, (rows - built) * next(ns for most, ns in _LOOKUPS if built <= most)
        if o in self.strategies:
            yield o.fragment, built * _COLLECT

    def filtered(self, f: Filter) -> _Model:
        """The same with one more filter."""
        fewer = {o: self.retained.get(o, 1) * f.retained for o in f.on}
        return replace(self, filters=(*self.filters, f), retained=self.retained | fewer)

    def alternatives(self, o: Operator) -> Iterator[_Model]:
        """The same with each other strategy of a sort-merge join."""
        if not o.join or o.join.strategy != "sort-merge":
            return
        sorts = {i for i in o.inputs if i.name == "Sort"}
        sent = {e for s in sorts for e in s.inputs if e.name == "Exchange" and not e.shared}
        side = min((0, 1), key=lambda i: self.rows(o.inputs[i]))
        build = o.inputs[side]
        size = sum(e.metrics.get("data size", 0) for e in build.inputs) * self.retained.get(build, 1)
        yield self._with(o, "shuffled hash", build, sorts)
        if o.join.type in _BUILD[side] and 0 < size <= _BROADCAST_BYTES:
            yield self._with(o, "broadcast hash", build, sorts | sent)

    def _with(self, o: Operator, strategy: str, build: Operator, gone: set[Operator]) -> _Model:
        return replace(self, strategies=self.strategies | {o: (strategy, build)}, gone=self.gone | gone)


def expected(e: Execution, plan: list[Operator]) -> Expectation:
    """The time of an execution with Springbok."""
    spent = _spent(e, plan)
    then = now = _Model(plan, spent)
    costs = now.costs()
    rest = {f: max(0.0, s.run_ms - s.scan_ms - now.files_ms().get(f, 0)) for f, s in spent.items()}

    def ms(m: _Model) -> float:
        """ms of all tasks: what reads tables stays, what writes files is known, the rest changes as its costs do."""
        changed = (rest[f] * (ns / costs[f] if costs[f] else 1) for f, ns in m.costs().items())
        return sum(s.scan_ms for s in spent.values()) + sum(m.files_ms().values()) + sum(changed)

    joins = [o for o in plan if o.join]
    then = replace(now, few_files=e.adaptive)
    run, causes = sum(s.run_ms for s in spent.values()), []
    # From the top: what a filter removes of the keys of a join further down is removed on its other side as well.
    for o in joins if e.adaptive else ():
        for f in _filters(then, o):
            gain = ms(then) - ms(made := then.filtered(f))
            then = made if gain > -_LEAST_MS else then
            causes += [f] if gain > run * _WORTH_NAMING else []
    for o in joins:
        then = min((then, *then.alternatives(o)), key=ms)
    saved = max(0.0, ms(now) - ms(then)) / run if run else 0.0
    skipped = sum(o.metrics.get("scan time", 0) * (1 - then.retained.get(o, 1)) for o in plan if o.table)
    skipped = min(skipped, sum(s.scan_ms for s in spent.values())) / run if run else 0.0
    busy = max(0.0, _covered(e.stages.values()) / 1000 - len(e.stages) * _STAGE_S)
    rules = (len(plan) * _OPERATOR_MS + len(joins) * _JOIN_MS) / 1000
    least, most = e.seconds - busy * min(1.0, saved + skipped), e.seconds - busy * saved / 2 + rules
    return Expectation(least, most, tuple(causes), then.strategies)


def _filters(m: _Model, o: Operator) -> Iterator[Filter]:
    """The filter of a join, from its side with fewer rows if possible; the first key that reaches a scan counts."""
    j, rows = o.join, [m.rows(i) for i in o.inputs]
    if j is None or o.rows is None or not all(rows):
        return
    smaller = rows.index(min(rows))
    for source in (smaller, 1 - smaller):
        target = 1 - source
        allowed = j.type in _BUILD[target] or j.type == "LeftSemi"
        for pair in j.keys if allowed and rows[source] <= _MOST_KEYS else ():
            # Rows that another condition removes, or that an outer join adds, say nothing about keys.
            counted = (target == 0 or j.type in ("Inner", "Cross")) and not j.conditional
            passed = m.rows(o) / rows[target] if counted else 0.0
            if not counted or len(j.keys) > 1:  # The rows that match by all keys are at most those that match by one.
                passed = max(passed, _selectivity(m, o.inputs[source], pair[source]))
            found = ways(o.inputs[target], pair[target])
            if found and passed <= 1 - _LEAST_REJECTED:
                on = frozenset(x for way in found for x in way)
                exact = counted and o not in m.retained
                yield Filter(o, pair[target], passed, exact, frozenset(way[-1] for way in found), on)
                return


def _selectivity(m: _Model, o: Operator, key: str) -> float:
    """The share of a key's values that a side has left: that of its groups, or else of its scan's rows."""
    bases = (next((x for x in way if "Aggregate" in x.name), way[-1]) for way in ways(o, key))
    most = max((x.rows or 0 for x in bases), default=0)
    return m.rows(o) / most if most else 1.0


def _spent(e: Execution, plan: list[Operator]) -> dict[int, _Spent]:
    spent = {o.fragment: _Spent() for o in plan}
    owner = {i: o.fragment for o in plan if "Exchange" not in o.name for i in o.accumulators}
    for stage in e.stages.values():
        if touched := [owner[i] for i in stage.changed if i in owner]:
            s = spent[max(touched, key=touched.count)]
            s.run_ms, s.tasks = s.run_ms + stage.run_ms, s.tasks + stage.tasks
    for o in plan:
        s = spent[o.fragment]
        s.scan_ms = min(s.run_ms, s.scan_ms + o.metrics.get("scan time", 0))
    return spent


def _covered(stages: Iterable[Stage]) -> float:
    """ms in which a stage ran."""
    total = end = 0.0
    for s in sorted(stages, key=lambda s: s.begin):
        total += max(0.0, s.end - max(s.begin, end))
        end = max(end, s.end)
    return total
