"""What shadow mode costs, and how well what it expects to save ranks the queries of a suite.

Whole passes over the suite take turns: Spark alone, Spark in shadow mode, and Springbok. Shadow mode plans a query
after it has ended, beside the next ones, so only whole passes show what that costs.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from typing import TYPE_CHECKING, Any

from springbok.comparison import answer
from springbok.reports import Report, last_reports
from springbok.session import temporarily

from benchmarks import suites
from benchmarks.harness import data, jvm, runner
from benchmarks.harness.results import Table, name_of, ratios
from benchmarks.studies.qualify import off_by, spearman

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARMS = {
    "Spark": {"spark.springbok.enabled": "false"},
    "shadow mode": {"spark.springbok.shadow": "true"},
    "Springbok": {},
}
_SAVED = re.compile(r"in (\d+) ms\. Springbok expects to save about (\d+) ms")
# The time in s in which the last queries of a pass get their reports.
_REPORTS_S = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which suite, and how often."""
    parser.add_argument("--suite", choices=suites.SUITES, default="tpcds")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--layout", choices=data.LAYOUTS, default="clustered")
    parser.add_argument("--queries", default="all")
    parser.add_argument("--runs", type=int, default=3, help="passes of each arm, after one that is not counted")


def run(args: argparse.Namespace) -> Table:
    """A row for each arm: the time of its passes, and the rank correlation of expected and measured ratios."""
    queries = suites.chosen(args.suite, args.queries)
    spark = runner.session(args.master, args.memory, {"spark.springbok.report.retained": str(len(queries))})
    try:
        runner.prepare(spark, runner.Experiment(args.suite, args.scale, args.layout, ("spark",), args.data))
        passes: dict[str, list[dict[str, Any]]] = {arm: [] for arm in _ARMS}
        for i in range(-1, args.runs):
            for arm in _ARMS if i % 2 else reversed(_ARMS):
                made = _pass(spark, queries, arm)
                passes[arm] += [made] if i >= 0 else []
                print(i, arm, made["wall_s"], made["cpu_s"], flush=True)
    finally:
        spark.stop()
    return _table(name_of(args.suite, args.scale, args.layout), passes)


def _pass(spark: SparkSession, queries: dict[str, str], arm: str) -> dict[str, Any]:
    """Wall time and the JVM's CPU time of all queries, the wall time and answer of each, and the ratios it expects."""
    seconds, answers = {}, {}
    context: Any = spark.sparkContext
    with temporarily(spark, _ARMS[arm]):
        begun, cpu = time.perf_counter(), jvm.cpu_s(spark)
        for name, sql in queries.items():
            context.setJobDescription(name)
            start = time.perf_counter()
            rows = spark.sql(sql).collect()
            seconds[name] = round(time.perf_counter() - start, 4)
            answers[name] = answer(rows)
        wall = time.perf_counter() - begun
        time.sleep(_REPORTS_S)
        cpu = jvm.cpu_s(spark) - cpu
    context.setJobDescription(None)
    expected = _expected(last_reports(spark, len(queries))) if arm == "shadow mode" else {}
    return {
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "seconds": seconds,
        "answers": answers,
        "expected": expected,
    }


def _expected(reports: list[Report]) -> dict[str, float]:
    """By query, how many times faster shadow mode expects it to be."""
    found = {}
    for r in reports:
        if r.execution and r.execution.job_description and (said := _SAVED.search(r.note or "")):
            took, saved = map(int, said.groups())
            found[r.execution.job_description] = took / max(1, took - saved)
    return found


def _table(suite: str, passes: dict[str, list[dict[str, Any]]]) -> Table:
    head = [
        "suite",
        "arm",
        "queries",
        "wall s",
        "Spark's wall / wall",
        "spread",
        "CPU s",
        "Spark's CPU / CPU",
        "spread",
    ]
    rows: list[list[Any]] = [[*head, "Spearman", "error, median"]]
    for arm, every in passes.items():
        cells: list[Any] = []
        for key in ("wall_s", "cpu_s"):
            compared = ratios(*([p[key] for p in passes[a]] for a in ("Spark", arm)))
            cells += [f"{statistics.median(p[key] for p in every):.1f}", *compared]
        rows.append([suite, arm, len(every[0]["seconds"]), *cells, *_ranked(passes if arm == "shadow mode" else {})])
    answers = [p.pop("answers") for every in passes.values() for p in every]
    # Queries that cut off rows of equal rank may have other rows at each run, also without Springbok.
    different = sorted(q for q in answers[0] if any(a[q] != answers[0][q] for a in answers))
    return Table(
        f"shadow-{suite}", f"Shadow mode over {suite}", rows, {"different_answers": different, "passes": passes}
    )


def _ranked(passes: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The rank correlation of the expected and the measured ratios, and the median of their error."""
    if not passes:
        return ["", ""]
    measured, expected = [], []
    for query in passes["Spark"][0]["seconds"]:
        off, on = (statistics.median(p["seconds"][query] for p in passes[arm]) for arm in ("Spark", "Springbok"))
        measured.append(off / on)
        expected.append(statistics.median(p["expected"].get(query, 1.0) for p in passes["shadow mode"]))
    return [f"{spearman(expected, measured):.2f}", f"{statistics.median(off_by(expected, measured)):.2f}x"]
