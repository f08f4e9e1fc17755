"""The CPU time that a shuffle's map tasks take to write one file a partition (200 partitions) or to sort (201)."""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.harness import measure, runner
from benchmarks.harness.arms import Arm, applied
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASK_ROWS = (100, 10_000, 100_000, 1_000_000, 4_000_000)
_ARMS = [Arm(n, springbok=False, settings={"spark.sql.shuffle.partitions": n}) for n in ("200", "201")]
_ROUNDS = 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """How many rows."""
    parser.add_argument("--max", type=int, default=max(_TASK_ROWS), help="the most rows of a map task")


def run(args: argparse.Namespace) -> Table:
    """One row a number of rows."""
    spark = runner.session(args.master, args.memory)
    rows: list[list[Any]] = [["rows a map task", "shuffled MB", *(f"{a.name} partitions CPU s" for a in _ARMS)]]
    rows += [_measure(spark, n) for n in _TASK_ROWS if n <= args.max]
    spark.stop()
    return Table("shuffle-writing", "Writing a shuffle", rows)


def _measure(spark: SparkSession, rows: int) -> list[str]:
    """CPU time of a query that shuffles so many rows in each of 8 map tasks."""
    sql = (
        f"SELECT sum(a), sum(b) FROM (SELECT id AS a, id * 3 AS b, hash(id) AS k "
        f"FROM range(0, {rows * 8}, 1, 8) DISTRIBUTE BY k)"
    )
    cpu: dict[str, list[float]] = {a.name: [] for a in _ARMS}
    for i in range(-1, _ROUNDS):
        for arm in _ARMS:
            with applied(spark, arm):
                figures = measure.run(spark, sql).figures
            cpu[arm.name] += [figures.cpu_s] if i >= 0 else []
    return [f"{rows:,}", f"{figures.shuffle_bytes / 1e6:.1f}", *(f"{statistics.median(c):.2f}" for c in cpu.values())]
