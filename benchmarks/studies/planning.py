"""The time that Springbok adds to the planning of the TPC-DS queries before they run; nothing is executed.

Planning is parsing, analysis, optimization and the first physical plan. Each round plans all queries without and with
Springbok by turns. Two rounds warm the JVM up. The figure of a query is the median over the other rounds.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from benchmarks import suites
from benchmarks.harness import data, measure, runner
from benchmarks.harness.arms import ARMS
from benchmarks.harness.results import Table

_WARMUPS = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which queries, on which data, and how often."""
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--layout", choices=data.LAYOUTS, default="clustered")
    parser.add_argument("--queries", default="all")
    parser.add_argument("--rounds", type=int, default=5)


def run(args: argparse.Namespace) -> Table:
    """Planning times of all queries."""
    spark = runner.session(args.master, args.memory)
    runner.prepare(spark, runner.Experiment("tpcds", args.scale, args.layout, ("spark", "springbok"), args.data))
    times = planning_times(spark, suites.chosen("tpcds", args.queries), args.rounds)
    spark.stop()
    title = f"Planning time added before execution, TPC-DS at scale {args.scale:g}"
    return Table("planning", title, table(times), {"queries": times})


def planning_times(spark: Any, queries: dict[str, str], rounds: int) -> dict[str, tuple[float, float]]:
    """Medians in ms without and with Springbok, by query."""
    times: dict[str, dict[str, list[float]]] = {name: {"spark": [], "springbok": []} for name in queries}
    for n in range(_WARMUPS + rounds):
        for name, sql in queries.items():
            for arm in ("spark", "springbok") if n % 2 else ("springbok", "spark"):
                took, _ = measure.planning(spark, ARMS[arm], sql)
                if n >= _WARMUPS:
                    times[name][arm].append(took)
    return {name: (statistics.median(t["spark"]), statistics.median(t["springbok"])) for name, t in times.items()}


def table(times: dict[str, tuple[float, float]]) -> list[list[Any]]:
    """Spark's planning time, and what Springbok adds to it."""
    rows: list[list[Any]] = [["ms", "median", "p95", "maximum"]]
    added = [on - off for off, on in times.values()]
    for name, each in (("Spark's planning", [off for off, _ in times.values()]), ("added by Springbok", added)):
        values = sorted(each)
        figures = (statistics.median(values), values[int(len(values) * 0.95)], values[-1])
        rows.append([name, *(f"{f:.0f}" for f in figures)])
    return rows
