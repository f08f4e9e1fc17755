"""Planning time without and with Springbok against the number of files of the larger table; the plans never run."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import runner
from benchmarks.harness.results import Table
from benchmarks.studies import growth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES = (100, 1_000, 10_000, 100_000)
_LINKS = 30_000  # hard links of one file; file systems allow about 65,000


def arguments(parser: argparse.ArgumentParser) -> None:
    """How many files."""
    parser.add_argument("--max", type=int, default=max(_FILES), help="the most files of the table")


def run(args: argparse.Namespace) -> Table:
    """A join of a table of each number of files with a small table."""
    spark = runner.session(args.master, args.memory)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(spark, Path(folder), [n for n in _FILES if n <= args.max])
    spark.stop()
    return Table("planning-files", "Planning time by the number of files", rows)


def measure(spark: SparkSession, folder: Path, counts: list[int]) -> list[list[Any]]:
    """One row a number of files."""
    one = folder / "file.parquet"
    spark.range(1000).selectExpr("id", "id % 7 AS v").coalesce(1).write.mode("overwrite").parquet(str(one))
    part = next(one.glob("part-*"))
    spark.read.parquet(str(one)).createOrReplaceTempView("few")
    rows: list[list[Any]] = [["files", *growth.COLUMNS]]
    for n in counts:
        spark.read.parquet(str(_linked(part, folder / f"files{n}", n))).createOrReplaceTempView("many")
        sql = "SELECT count(*) FROM many JOIN few ON many.id = few.id WHERE few.v = 3"
        rows.append([f"{n:,}", *growth.planning(spark, sql)])
    return rows


def _linked(part: Path, many: Path, n: int) -> Path:
    """A folder with n files, hard links of a few copies of one file."""
    many.mkdir()
    for i in range(n):
        file = many / f"part-{i:06d}.parquet"
        if i % _LINKS == 0:
            target = shutil.copy(part, file)
        else:
            file.hardlink_to(target)
    return many
