"""Planning time without and with Springbok against the number of joins; the plans never run."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import runner
from benchmarks.harness.results import Table
from benchmarks.studies import growth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JOINS = (2, 5, 10, 20, 30, 40)


def arguments(parser: argparse.ArgumentParser) -> None:
    """How many joins."""
    parser.add_argument("--max", type=int, default=max(_JOINS), help="the most joins of a query")


def run(args: argparse.Namespace) -> Table:
    """A star and a chain of each number of joins."""
    spark = runner.session(args.master, args.memory)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(spark, Path(folder), [n for n in _JOINS if n <= args.max])
    spark.stop()
    return Table("planning-joins", "Planning time by the number of joins", rows)


def measure(spark: SparkSession, folder: Path, counts: list[int]) -> list[list[Any]]:
    """One row a number of joins and a shape."""
    path = str(folder / "one.parquet")
    spark.range(1000).selectExpr("id", "id % 10 AS fk", "id % 7 AS v").coalesce(1).write.mode("overwrite").parquet(path)
    for i in range(max(counts, default=0) + 1):
        spark.read.parquet(path).createOrReplaceTempView(f"p{i}")
    rows: list[list[Any]] = [["joins", "shape", *growth.COLUMNS]]
    for n in counts:
        for shape, key in (("star", "p0.fk"), ("chain", "p{before}.fk")):
            joins = " ".join(f"JOIN p{i} ON {key.format(before=i - 1)} = p{i}.id" for i in range(1, n + 1))
            where = " AND ".join(f"p{i}.v = 3" for i in range(1, n + 1, 3))
            rows.append([n, shape, *growth.planning(spark, f"SELECT count(*) FROM p0 {joins} WHERE {where}")])
    return rows
