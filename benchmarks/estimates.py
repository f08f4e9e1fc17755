"""How far row estimates of joins are off: Springbok's without ANALYZE, and Spark's without and with it.

All joins of TPC-DS whose output was counted, without runtime filters, so that every join gives what the query says.
The q-error of an estimate is `max(estimate / rows, rows / estimate)`, both at least 1; a join without an estimate
counts as unknown.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from springbok.reports import report

from benchmarks import runner, suites
from benchmarks.arms import ARMS, Arm, applied

_PLAIN = ARMS["B-strategy"]
# The strategies are Springbok's in both, so that the same joins are there to count.
_ANALYZED = Arm("B-strategy+T", springbok=True, tuned=True, settings=_PLAIN.settings)
_OURS, _DEFAULT, _CBO = "Springbok without ANALYZE", "Spark without ANALYZE", "Spark with CBO and ANALYZE"
# Estimator, query, number of the join, estimated rows, rows.
_Join = tuple[str, str, int, float | None, int]


def q_error(estimate: float | None, rows: int) -> float | None:
    """At least 1; None for an unknown estimate."""
    if estimate is None:
        return None
    e, r = max(1.0, estimate), max(1.0, float(rows))
    return max(e / r, r / e)


def spark_estimates(df: Any, jvm: Any) -> dict[int, float | None]:
    """Rows that Spark's own statistics say of each join, by Springbok's number of it."""
    tag = jvm.org.apache.spark.sql.springbok.report.QueryRecord.tag()
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
    """All joins that gave rows, by whose estimate it is."""
    found: list[_Join] = []
    for name, sql in queries.items():
        for arm in (_PLAIN, _ANALYZED):
            with applied(spark, arm):
                spark.sql(f"USE {runner.database_of(arm)}")
                df = spark.sql(sql)
                df.collect()
                joins = {j.id: j for j in report(df).joins if j.output_rows is not None}
                theirs = spark_estimates(df, spark._jvm)
            for i, j in joins.items():
                if j.output_rows is None or i not in theirs:
                    continue
                if arm is _PLAIN:
                    found.append((_OURS, name, i, j.estimated_rows, j.output_rows))
                found.append((_DEFAULT if arm is _PLAIN else _CBO, name, i, theirs[i], j.output_rows))
        print(name, len(found), flush=True)
    return found


def table(joins: list[_Join]) -> list[list[Any]]:
    """One row an estimator."""
    rows: list[list[Any]] = [["estimates", "joins", "unknown", "q-error median", "p95", "geomean"]]
    for who in (_OURS, _DEFAULT, _CBO):
        errors = [q_error(estimate, n) for name, _, _, estimate, n in joins if name == who]
        known = sorted(e for e in errors if e is not None)
        figures = [f"{f:.1f}" for f in _figures(known)] if known else []
        rows.append([who, len(errors), len(errors) - len(known), *figures])
    return rows


def _figures(known: list[float]) -> list[float]:
    return [statistics.median(known), known[int(len(known) * 0.95)], statistics.geometric_mean(known)]


def main() -> None:
    """Measure, print the table and write it beside the other results."""
    parser = argparse.ArgumentParser(prog="benchmarks.estimates", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--queries", default="all")
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args()
    e = runner.Experiment("tpcds", 1, "plain", ("B", "T"), 1, 0, "local[2]", args.memory, args.data, {})
    spark = runner.session(e.master, e.memory, {})
    runner.prepare(spark, e)
    where = runner.machine(spark, e.master, e.memory)
    joins = measure(spark, suites.chosen("tpcds", args.queries))
    rows = table(joins)
    spark.stop()
    for r in rows:
        print(*r, sep="\t")
    title = "Row estimates of TPC-DS joins at scale 1"
    command = "python -m benchmarks.estimates"
    runner.write(
        args.out / "estimates.json", {"title": title, "command": command, **where, "table": rows, "joins": joins}
    )


if __name__ == "__main__":
    main()
