"""Filters from build sides of many tasks: TPC-H's orders, one task a file, joined to lineitem.

Runs without and with Springbok take turns, warm, and their answers are compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import springbok
from springbok.errors import SpringbokError
from springbok.session import temporarily

from benchmarks.harness import data, runner
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """SELECT /*+ MERGE(o) */ count(*), sum(l_extendedprice), max(o_totalprice)
FROM lineitem JOIN orders_in_files o ON l_orderkey = o_orderkey WHERE o_orderdate >= DATE '{since}'"""
HEAD = ["build tasks", "keys", "Spark s", "Springbok s", "ratio", "lowest", "highest", "rows removed", "applied as"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """How many tasks the build side has, which keys, and how often each arm runs."""
    parser.add_argument("--tasks", default="2,100,500,2000,10000", help="numbers of build tasks")
    parser.add_argument("--since", default="1997-06-01", help="the first order date of the build side")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=5)


def run(args: argparse.Namespace) -> Table:
    """One row a number of tasks."""
    # Each file is a task of its own.
    spark = runner.session(args.master, args.memory, {"spark.sql.files.openCostInBytes": "128m"})
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
    times: dict[str, list[float]] = {"false": [], "true": []}
    answers = set()
    for n in range(-2, runs):
        for enabled, took in times.items():
            with temporarily(spark, {"spark.springbok.enabled": enabled}):
                df = spark.sql(sql)
                start = time.perf_counter()
                answers.add(str(df.collect()))
                if n >= 0:
                    took.append(time.perf_counter() - start)
    if len(answers) > 1:
        raise SpringbokError(f"The answers differ: {answers}.")
    found = next((f for f in springbok.report(df).filters if f.kinds), None)
    ratios = sorted(a / b for a, b in zip(times["false"], times["true"], strict=True))
    removed = f"{found.rows_removed:,} of {found.rows_in:,}" if found and found.rows_removed else "none"
    kinds = ", ".join(found.kinds) if found else "none"
    keys = f"{found.build_keys:,}" if found and found.build_keys else "unknown"
    medians = [f"{statistics.median(times[e]):.2f}" for e in ("false", "true")]
    return [keys, *medians, *(f"{r:.2f}x" for r in (statistics.median(ratios), ratios[0], ratios[-1])), removed, kinds]
