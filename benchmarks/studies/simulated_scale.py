"""Plans of TPC-DS at scales and on clusters that no machine here has; nothing is executed.

The tables have the footers of their scale, but no rows (`simulated_tables`). The cluster is that of Springbok's
settings. Each plan is the first one of adaptive execution. The study checks it against limits of its own:

- Each broadcast that Springbok has chosen, and all broadcasts of a query, fit the driver and the executors.
- The summary of each filter's keys fits into what its build tasks may send and the driver merges. The number of
  tasks is the largest possible one: no shuffle is coalesced.
- Planning opens few footers, and lists no table twice.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.model import Filter, Join, Side
from springbok.reports import Report, report
from springbok.session import temporarily

from benchmarks import suites
from benchmarks.harness import data, jvm, measure, runner
from benchmarks.harness.arms import ARMS
from benchmarks.harness.results import Table
from benchmarks.studies.simulated_tables import ROWS, SCALES, Writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES, HEAP = 4, 16 << 30
HEAD = [
    *("scale", "executors", "broadcast", "hash", "sort-merge", "filters", "late", "declined", "largest broadcast MB"),
    *("build tasks", "MB to the driver", "sent in ms", "longest idle ms", "violations"),
]
_MB = 1 << 20
# The executors for which planning is timed and scales are compared.
_MIDDLE = 100
# Bytes a ms between executors and driver: 10 Gbit/s.
_NETWORK = 1.25e6
_MOST_BROADCAST, _MOST_MERGED, _MOST_FOOTERS = 256 * _MB, 256 * _MB, 16
# By what a relation of rows exceeds them: as it is sent, and as a hash table.
_SENT, _TABLE = 1.1, 2.0


@dataclass(frozen=True)
class Merge:
    """How the keys of a build side reach the driver."""

    label: str
    rows: float | None
    tasks: int
    task_bytes: float
    fits: bool
    """Whether the tasks can send hashes or a bloom filter of each key."""

    @property
    def bytes(self) -> float:
        """Bytes of all tasks."""
        return self.tasks * self.task_bytes


@dataclass(frozen=True)
class Plan:
    """What the study reads of a plan."""

    report: Report
    merges: list[Merge]

    def broadcasts(self) -> Iterator[tuple[Join, Side]]:
        """Broadcast joins with their build sides."""
        for j in self.report.joins:
            if (j.strategy or "").startswith("broadcast"):
                yield j, j.left if j.build == "left" else j.right

    def strategies(self) -> dict[tuple[str, int], Join]:
        """The joins by their conditions, each of which may be there several times."""
        seen: Counter[str] = Counter()
        found = {}
        for j in self.report.joins:
            found[j.condition, seen[j.condition]] = j
            seen[j.condition] += 1
        return found

    def filters(self, status: str = "placed") -> dict[tuple[str, str | None, str | None], Filter]:
        """The filters by what they are made from and applied to."""
        return {(f.source, f.target_table, f.target_column): f for f in self.report.filters if f.status == status}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which queries on which clusters."""
    parser.add_argument("--queries", default="all")
    parser.add_argument("--executors", default="10,100,1000", help="must have 100")
    parser.add_argument("--rounds", type=int, default=3, help="timed rounds of planning")


def run(args: argparse.Namespace) -> Table:
    """Plan all queries at all scales on all clusters."""
    spark = runner.session(args.master, args.memory)
    base = data.folder(spark, args.data, "tpcds", 1, "plain")
    for scale in SCALES:
        tables(spark, base, args.data / "tpcds-simulated", scale)
    queries = suites.chosen("tpcds", args.queries)
    clusters = [int(n) for n in args.executors.split(",")]
    plans = {}
    for scale in SCALES:
        for n in clusters:
            plans[scale, n] = planned(spark, queries, scale, n)
            print(scale, n, *row(list(plans[scale, n].values())), sep="\t", flush=True)
    times = planning(spark, queries, _MIDDLE, args.rounds)
    listed = jvm.files_listed(spark)
    spark.stop()
    return result(plans, times, listed)


def result(
    plans: dict[tuple[int, int], dict[str, Plan]], times: dict[str, dict[str, float]], files_listed: int
) -> Table:
    """What is published."""
    rows: list[list[Any]] = [[*HEAD]]
    wrong = []
    for (scale, n), found in sorted(plans.items()):
        here = [f"scale {scale:,}, {n:,} executors, {q}: {v}" for q, p in found.items() for v in violations(p)]
        rows.append([f"{scale:,}", f"{n:,}", *row(list(found.values())), len(here)])
        wrong += here
    small = plans[SCALES[0], _MIDDLE]
    details = {
        "changes": {str(s): changes(small, plans[s, _MIDDLE]) for s in SCALES[1:]},
        "violations": wrong,
        "declined": {f"{s}, {n}": declined(p) for (s, n), p in sorted(plans.items())},
        "files": listings(plans),
        "files_listed": files_listed,
        "planning": times,
    }
    return Table("simulated-scale", "Plans of TPC-DS at scales of 1,000 and 10,000", rows, details)


def declined(plans: dict[str, Plan]) -> dict[str, int]:
    """How many filters were not placed, by reason."""
    reasons = Counter(f.reason.code for p in plans.values() for f in p.filters("declined").values())
    return dict(reasons.most_common())


def tables(spark: SparkSession, base: Path, root: Path, scale: int, names: Iterable[str] = ROWS) -> None:
    """A database with the tables of a scale, made from those of a small scale."""
    folder = root / f"sf{scale}"
    Writer(spark, base).write(folder, scale, names)
    spark.sql(f"CREATE DATABASE IF NOT EXISTS sf{scale}")
    for table in names:
        location = (folder / table).resolve()
        spark.sql(f"CREATE TABLE IF NOT EXISTS sf{scale}.{table} USING parquet LOCATION '{location}'")


@contextmanager
def on(spark: SparkSession, scale: int, executors: int) -> Iterator[None]:
    """Within the block queries read the tables of a scale, and are planned for a cluster."""
    cluster = {"executors": executors, "coresPerExecutor": CORES, "executorMemory": HEAP}
    settings = {f"spark.springbok.cluster.{name}": str(v) for name, v in cluster.items()}
    with temporarily(spark, settings | {"spark.sql.shuffle.partitions": str(2 * executors * CORES)}):
        spark.sql(f"USE sf{scale}")
        yield
        spark.sql("USE default")


def planned(spark: SparkSession, queries: dict[str, str], scale: int, executors: int) -> dict[str, Plan]:
    """The plan of each query."""
    found = {}
    with on(spark, scale, executors):
        for name, sql in queries.items():
            df = spark.sql(sql)
            r = report(df)
            # An exchange that is read twice is there twice.
            merges = {m.label: m for m in _merges(spark, df._jdf.queryExecution().executedPlan(), r)}
            found[name] = Plan(r, list(merges.values()))
    return found


def _merges(spark: SparkSession, plan: Any, r: Report) -> Iterator[Merge]:
    exchanges = {f.id: f.exchange for f in r.fragments}
    from_exchange = ((f.id, exchanges.get(f.from_fragment)) for f in r.filters if f.from_fragment is not None)
    rows = {i: e.estimated_rows for i, e in from_exchange if e}
    for p in _nodes(plan):
        keys = list(_each(p.plan().keys())) if p.nodeName() == "RuntimeFilterSource" else []
        if keys:
            label, tasks = p.simpleString(1000), _tasks(p.child(), r)
            share = min(p.plan().mergeBytes() / tasks, p.plan().taskBytes())
            count = next((rows[i] for i in re.findall(r"RF\d+", label) if i in rows), None)
            sent = [_sent(spark, count, tasks, *b) for b in _shares([k._2() for k in keys], share)]
            yield Merge(label, count, tasks, sum(s or 0 for s in sent), None not in sent)


def _nodes(plan: Any) -> Iterator[Any]:
    plans = [plan]
    while plans:
        p = plans.pop()
        yield p
        plans += [p.executedPlan()] if p.nodeName() == "AdaptiveSparkPlan" else []
        plans += [*_each(p.subqueries()), *_each(p.children())]


def _each(seq: Any) -> Iterator[Any]:
    return (seq.apply(i) for i in range(seq.size()))


def _shares(blooms: list[int], share: float) -> Iterator[tuple[int, float]]:
    """The bytes that a task may send of each key: none needs more than its bloom filter."""
    for i, bloom in enumerate(sorted(blooms)):
        own = min(bloom, share / (len(blooms) - i))
        share -= own
        yield bloom, own


def _sent(spark: SparkSession, rows: float | None, tasks: int, bloom: int, share: float) -> float | None:
    """The bytes that a task sends of a key: hashes of all of its rows, or a bloom filter; None if neither fits."""
    if rows is not None and rows / tasks * 8 <= share:
        return rows / tasks * 8
    return int(jvm.key_summary(spark).affordable(bloom, int(share))) or (None if bloom else 0)


def _tasks(p: Any, r: Report) -> int:
    """The most tasks of a stage."""
    name = p.nodeName()
    if name in ("Exchange", "ReusedExchange"):
        return int(p.outputPartitioning().numPartitions())
    if name.startswith("Scan parquet"):
        size = int(str(p.relation().sizeInBytes()))
        even = size / (r.resources.executors * r.resources.cores_per_executor)
        return math.ceil(size / min(128 * _MB, max(4 * _MB, even)))
    below = [_tasks(c, r) for c in _each(p.children())]
    return sum(below) if name == "Union" else max(below, default=1)


def violations(p: Plan) -> Iterator[str]:
    """What does not fit."""
    r = p.report.resources
    heap = min(r.driver_heap_bytes, r.executor_heap_bytes)
    held = 0.0
    for j, side in p.broadcasts():
        rows = side.bound_bytes
        held += (side.rows or 0) * (side.row_bytes or 0) * _TABLE
        if not j.planned_by_spark and (rows is None or rows * _SENT > _MOST_BROADCAST or rows * _TABLE > heap / 10):
            yield f"{j} broadcasts up to {rows} bytes"
    if held > heap / 3:
        yield f"broadcasts take {held / _MB:,.0f} MB of {heap / _MB:,.0f} MB"
    for m in p.merges:
        if not m.fits:
            yield f"{m.label} of {m.rows or 0:,.0f} rows in {m.tasks:,} tasks cannot be sent"
        if m.bytes > min(_MOST_MERGED, r.driver_heap_bytes / 20):
            yield f"{m.label} brings {m.bytes / _MB:,.0f} MB to the driver"
    for t in p.report.tables:
        if (t.footers_read or 0) > _MOST_FOOTERS:
            yield f"{t.footers_read} footers of {t.name} are read"
    for failure in p.report.failures:
        yield f"{failure}"


def row(plans: list[Plan]) -> list[Any]:
    """The figures of all queries on a cluster, in the order of the table's head after the second."""
    strategies = Counter(s for p in plans for s, n in p.report.strategies.items() for _ in range(n))
    placed = [f for p in plans for f in p.filters().values()]
    sizes = [(side.rows or 0) * (side.row_bytes or 0) for p in plans for _, side in p.broadcasts()]
    merges = sorted((m for p in plans for m in p.merges), key=lambda m: m.bytes) or [Merge("", None, 0, 0, True)]
    idle = max((f.expected_idle_ms or 0 for f in placed if f.timing == "waits"), default=0)
    return [
        *(strategies[s] for s in ("broadcast hash", "shuffled hash", "sort-merge")),
        len(placed),
        sum(f.timing == "late" for f in placed),
        sum(len(p.filters("declined")) for p in plans),
        f"{max(sizes, default=0) / _MB:,.0f}",
        f"{max(m.tasks for m in merges):,}",
        f"{merges[-1].bytes / _MB:,.0f}",
        f"{merges[-1].bytes / _NETWORK:,.0f}",
        f"{idle:,.0f}",
    ]


def changes(before: dict[str, Plan], after: dict[str, Plan]) -> dict[str, list[str]]:
    """The queries of each change, and why the plan has not what it had before."""
    found: dict[str, list[str]] = {}
    for query, old in before.items():
        for change in sorted({*_changes(old, after[query])}):
            found.setdefault(change, []).append(query)
    return found


def _changes(old: Plan, new: Plan) -> Iterator[str]:
    joins, filters = new.strategies(), new.filters()
    for key, was in old.strategies().items():
        now = joins.get(key)
        if now and was.strategy and now.strategy and (was.strategy, was.build) != (now.strategy, now.build):
            yield f"{_named(was)} → {_named(now)}: {_why(was, now)}"
    orders = [[o.after or o.before for o in p.report.join_order] for p in (old, new)]
    if orders[0] != orders[1]:
        yield "another join order"
    if gone := old.filters().keys() - filters.keys():
        declined = new.filters("declined")
        reasons = {d.reason.code for d in declined.values() for g in gone if d.source == g[0]}
        yield f"a filter less: {', '.join(sorted(reasons)) or 'the joins differ'}"
    if more := filters.keys() - old.filters().keys():
        declined = old.filters("declined")
        reasons = {d.reason.code for d in declined.values() for m in more if d.source == m[0]}
        yield f"a filter more: no longer {', '.join(sorted(reasons)) or 'the joins differ'}"


def _named(j: Join) -> str:
    return f"{j.strategy}" + (f", build {j.build}" if j.build else "")


def _why(was: Join, now: Join) -> str:
    """Why a join has not the strategy of the smaller scale: it is ruled out, or costs more than the new one."""
    ruled_out = {a.strategy: a.ruled_out.code for a in now.alternatives if a.ruled_out}
    return ruled_out.get(_named(was), "LOWEST_COST")


def listings(plans: dict[tuple[int, int], dict[str, Plan]]) -> dict[str, dict[str, int]]:
    """The files of the tables that the queries of each scale read, and the footers that were opened."""
    scales = {}
    for (scale, _), queries in plans.items():
        found = {t.name: (t.files or 0, t.footers_read or 0) for p in queries.values() for t in p.report.tables}
        scales[str(scale)] = {"files": sum(n for n, _ in found.values()), "footers": sum(n for _, n in found.values())}
    return scales


def planning(spark: SparkSession, queries: dict[str, str], executors: int, rounds: int) -> dict[str, dict[str, float]]:
    """The median planning time in ms of each query at each scale, which take turns."""
    times: dict[str, dict[int, list[float]]] = {q: {s: [] for s in SCALES} for q in queries}
    for i in range(rounds):
        for query, sql in queries.items():
            for scale in SCALES[i % len(SCALES) :] + SCALES[: i % len(SCALES)]:
                with on(spark, scale, executors):
                    times[query][scale].append(measure.planning(spark, ARMS["springbok"], sql)[0])
    return {q: {f"{s}": round(statistics.median(ms), 1) for s, ms in t.items()} for q, t in times.items()}
