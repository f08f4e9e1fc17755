"""How long Springbok's rules take as the JVM gets older: one query again and again, in blocks of runs.

The JVM interprets code that has run rarely, and compiles it while queries run.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from benchmarks import suites
from benchmarks.harness import measure, runner
from benchmarks.harness.arms import ARMS, applied
from benchmarks.harness.results import Table


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which TPC-DS query, and how often."""
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--query", default="q90")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=25, help="runs of each block, in each arm")


def run(args: argparse.Namespace) -> Table:
    """One row a block."""
    spark = runner.session(args.master, args.memory)
    runner.prepare(spark, runner.Experiment("tpcds", args.scale, "clustered", ("spark", "springbok"), args.data))
    sql = suites.chosen("tpcds", args.query)[args.query]
    rows: list[list[Any]] = [["runs", "Spark ms", "Springbok ms", "Spark / Springbok", "rules ms"]]
    for block in range(args.blocks):
        off, _ = _mean(spark, "spark", sql, args.runs)
        on, rules = _mean(spark, "springbok", sql, args.runs)
        first = block * args.runs
        ratio = f"{off / on:.2f}x"
        rows.append([f"{first + 1} to {first + args.runs}", f"{off:.0f}", f"{on:.0f}", ratio, f"{rules:.0f}"])
    spark.stop()
    title = f"Planning in a young and an old JVM, TPC-DS {args.query} at scale {args.scale:g}"
    return Table("planning-age", title, rows, {})


def _mean(spark: Any, arm: str, sql: str, runs: int) -> tuple[float, float]:
    """The mean time of a run and of its rules in ms."""
    before = sum(measure.rules_ms(spark).values())
    with applied(spark, ARMS[arm]):
        start = time.perf_counter()
        for _ in range(runs):
            spark.sql(sql).collect()
        took = (time.perf_counter() - start) * 1e3
    return took / runs, (sum(measure.rules_ms(spark).values()) - before) / runs
