"""Filters from build sides of many tasks: TPC-H's orders, one task a file, joined to lineitem.

Runs without and with Springbok take turns, warm, and their answers are compared.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.comparison import Run, timed
from springbok.errors import SpringbokError
from springbok.session import temporarily

from benchmarks.harness import data, results, runner
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """SELECT /*+ MERGE(o) */ count(*), sum(l_extendedprice), max(o_totalprice)
FROM lineitem JOIN orders_in_files o ON l_orderkey = o_orderkey WHERE o_orderdate >= DATE '{since}'"""
HEAD = ["build tasks", "Spark s", "Springbok s", "ratio", "spread", "rows removed"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """How many tasks the build side has, which keys, and how often each arm runs."""
    parser.add_argument("--tasks", default="2,100,500,2000,10000", help="numbers of build tasks")
    parser.add_argument("--since", default="1997-06-01", help="the first order date of the build side")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=5)


def run(args: argparse.Namespace) -> Table:
    """One row a number of tasks."""
    # Each file is a task of its own, and the join has few, so that it is the build side that is timed.
    conf = {"spark.sql.files.openCostInBytes": "128m", "spark.sql.shuffle.partitions": "8"}
    spark = runner.session(args.master, args.memory, conf)
    folder = data.folder(spark, args.data, "tpch", args.scale, "plain")
    spark.read.parquet(str(folder / "lineitem.parquet")).createOrReplaceTempView("lineitem")
    rows: list[list[Any]] = [HEAD]
    for tasks in (int(t) for t in args.tasks.split(",")):
        files(spark, folder, tasks)
        rows.append([f"{tasks:,}", *row(spark, QUERY.format(since=args.since), args.runs)])
        print(*rows[-1], flush=True)
    spark.stop()
    return Table("build-tasks", f"Filters from many build tasks, TPC-H at scale {args.scale:g}", rows)


def files(spark: SparkSession, folder: Path, tasks: int) -> None:
    """The orders of the folder as a view on so many files, which are written once."""
    target = folder / f"orders-{tasks}"
    if not target.exists():
        orders = spark.read.parquet(str(folder / "orders.parquet")).select("o_orderkey", "o_orderdate", "o_totalprice")
        with temporarily(spark, {"spark.springbok.enabled": "false"}):
            orders.repartition(tasks).write.parquet(str(target))
    spark.read.parquet(str(target)).createOrReplaceTempView("orders_in_files")


def row(spark: SparkSession, sql: str, runs: int) -> list[Any]:
    """The figures of a query in both arms, in the order of the table's head after the first.

    Raises:
        SpringbokError: the answers differ.
    """
    ran: dict[str, list[Run]] = {"false": [], "true": []}
    for _ in range(2 + runs):
        for enabled, done in ran.items():
            with temporarily(spark, {"spark.springbok.enabled": enabled}):
                done.append(timed(lambda: spark.sql(sql)))
    answers = {str(r.answer) for done in ran.values() for r in done}
    if len(answers) > 1:
        raise SpringbokError(f"The answers differ: {answers}.")
    found = next((f for f in ran["true"][-1].report.filters if f.kinds), None)
    # The first two of each are warm-ups.
    times = [[r.seconds for r in done[2:]] for done in ran.values()]
    removed = f"{found.rows_removed:,} of {found.rows_in:,}" if found and found.rows_removed else "none"
    medians = [f"{statistics.median(seconds):.2f}" for seconds in times]
    return [*medians, *results.ratios(*times), removed]
