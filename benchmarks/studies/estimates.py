"""How far the row estimates of joins are off: Springbok, Spark without and with ANALYZE.

The study runs TPC-DS without runtime filters, so that every join returns as many rows as the query says, and counts
each join's output. The q-error of an estimate is `max(estimate / rows, rows / estimate)`, with both at least 1. A join
without an estimate counts as unknown.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from typing import Any

from springbok.reports import report

from benchmarks import suites
from benchmarks.harness import jvm, runner
from benchmarks.harness.arms import ARMS, Arm, applied
from benchmarks.harness.results import Table

_PLAIN = ARMS["strategies-only"]
# Springbok chooses the strategies in both arms, so both count the same joins.
_ANALYZED = Arm("analyzed", springbok=True, analyzed=True, settings=ARMS["tuned"].settings | _PLAIN.settings)
_SPRINGBOK, _SPARK, _CBO = "Springbok without ANALYZE", "Spark without ANALYZE", "Spark with CBO and ANALYZE"
# Estimator, query, number of the join, estimated rows, rows.
_Join = tuple[str, str, int, float | None, int]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which queries, at which scale."""
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--queries", default="all")


def run(args: argparse.Namespace) -> Table:
    """The q-errors of all joins."""
    spark = runner.session(args.master, args.memory)
    runner.prepare(spark, runner.Experiment("tpcds", args.scale, "plain", ("springbok", "tuned"), args.data))
    joins = measure(spark, suites.chosen("tpcds", args.queries))
    spark.stop()
    return Table(
        "estimates", f"Row estimates of TPC-DS joins at scale {args.scale:g}", table(joins), details={"joins": joins}
    )


def q_error(estimate: float | None, rows: int) -> float | None:
    """At least 1; None for an unknown estimate."""
    if estimate is None:
        return None
    e, r = max(1.0, estimate), max(1.0, float(rows))
    return max(e / r, r / e)


def spark_estimates(df: Any) -> dict[int, float | None]:
    """The rows of each join by Spark's own statistics, by Springbok's number of the join."""
    tag = jvm.join_state(df.sparkSession).tag()
    found: dict[int, float | None] = {}
    plans = [df._jdf.queryExecution().optimizedPlan()]
    while plans:
        plan = plans.pop()
        mark = plan.getTagValue(tag)
        if mark.isDefined():
            rows = plan.stats().rowCount()
            found[int(mark.get().id())] = float(str(rows.get())) if rows.isDefined() else None
        plans += list(_each(plan.children())) + list(_each(plan.subqueries()))
    return found


def _each(seq: Any) -> Iterator[Any]:
    it = seq.iterator()
    while it.hasNext():
        yield it.next()


def measure(spark: Any, queries: dict[str, str]) -> list[_Join]:
    """All joins whose output was counted, once for each estimator."""
    found: list[_Join] = []
    for name, sql in queries.items():
        for arm, ours, theirs in ((_PLAIN, _SPRINGBOK, _SPARK), (_ANALYZED, None, _CBO)):
            found += _joins(spark, arm, name, sql, ours, theirs)
        print(name, len(found), flush=True)
    return found


def _joins(spark: Any, arm: Arm, query: str, sql: str, ours: str | None, theirs: str | None) -> list[_Join]:
    """The joins of one run that were counted: Springbok's estimates under one name, Spark's under another."""
    with applied(spark, arm):
        spark.sql(f"USE {runner.database_of(arm)}")
        df = spark.sql(sql)
        df.collect()
        joins = {j.id: j for j in report(df).joins if j.output_rows is not None}
        sparks = spark_estimates(df)
    found: list[_Join] = []
    for i, j in joins.items():
        if j.output_rows is None or i not in sparks:
            continue
        if ours:
            found.append((ours, query, i, j.estimated_rows, j.output_rows))
        if theirs:
            found.append((theirs, query, i, sparks[i], j.output_rows))
    return found


def table(joins: list[_Join]) -> list[list[Any]]:
    """One row an estimator."""
    rows: list[list[Any]] = [["estimates", "joins", "unknown", "q-error median", "p95", "geomean"]]
    for who in (_SPRINGBOK, _SPARK, _CBO):
        errors = [q_error(estimate, n) for name, _, _, estimate, n in joins if name == who]
        known = sorted(e for e in errors if e is not None)
        figures = [f"{f:.1f}" for f in _figures(known)] if known else ["-"] * 3
        rows.append([who, len(errors), len(errors) - len(known), *figures])
    return rows


def _figures(known: list[float]) -> list[float]:
    return [statistics.median(known), known[int(len(known) * 0.95)], statistics.geometric_mean(known)]
