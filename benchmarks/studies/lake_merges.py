"""MERGE of 0.3% of the keys into large Delta tables: Spark, Springbok, and a range of the keys written by hand."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.errors import SpringbokError

from benchmarks.harness import formats, runner
from benchmarks.harness.arms import ARMS, Arm, applied
from benchmarks.harness.results import Table, ratios

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ON = {"spark.springbok.merge.enabled": "true"}
_OFF = {"spark.springbok.merge.enabled": "false"}
_ARMS = {
    "Spark": ARMS["spark"],
    "Springbok, target as it is": Arm("without-merge", springbok=True, settings=_OFF),
    "Springbok": Arm("merge", springbok=True, settings=_ON),
    "range by hand": ARMS["spark"],
}
_HEAD = ["target", "keys", "arm", "seconds", "against Spark", "spread"]


@dataclass(frozen=True)
class _Target:
    """A table: millions of rows, files, and whether its rows have texts beside the numbers."""

    millions: float
    files: int
    wide: bool

    def __str__(self) -> str:
        return f"{self.millions:g} million {'wide' if self.wide else 'narrow'} rows in {self.files} files"

    @property
    def rows(self) -> int:
        return int(self.millions * 1_000_000)

    def keys(self) -> dict[str, tuple[str, str]]:
        """What the changes are, as conditions on `id` below 1.01 times the rows, and the range written by hand."""
        newest = self.rows - 2 * self.rows // self.files
        return {
            "newest files": (f"id >= {newest} AND id % 7 < 2", f"t.id >= {newest}"),
            "scattered": ("id % 333 = 5", f"t.id BETWEEN 0 AND {2 * self.rows}"),
        }


def arguments(parser: argparse.ArgumentParser) -> None:
    """How large the tables are."""
    parser.add_argument("--part", type=float, default=1, help="of 60 million rows in 600 files and of 20 in 100")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each arm, after one that is not timed")


def run(args: argparse.Namespace) -> Table:
    """One row for each target, kind of keys and arm."""
    narrow = _Target(60 * args.part, int(600 * args.part), wide=False)
    targets = (narrow, _Target(20 * args.part, int(100 * args.part), wide=True))
    rows: list[list[Any]] = [_HEAD]
    with tempfile.TemporaryDirectory() as folder:
        # A smaller part is treated as the whole would be.
        least = {"spark.springbok.merge.minTargetBytes": str(int((64 << 20) * min(1, args.part)))}
        spark = runner.session(args.master, args.memory, formats.settings("delta", Path(folder) / "tables") | least)
        for i, target in enumerate(targets):
            _create(spark, f"{folder}/target{i}", target)
            for keys, (where, by_hand) in target.keys().items():
                _changes(spark, f"{folder}/changes{i}-{keys[:3]}", target, where)
                rows += [[str(target), keys, *r] for r in _measured(spark, by_hand, args.runs)]
        spark.stop()
    return Table("lake-merges", "MERGE into large Delta tables", rows)


def _create(spark: SparkSession, location: str, target: _Target) -> None:
    texts = ("concat('name-', id) AS name", "repeat(sha1(CAST(id AS STRING)), 2) AS text") if target.wide else ()
    columns = ("id", "CAST(id % 1000 AS DECIMAL(12, 2)) AS price", *texts)
    frame = spark.range(0, target.rows, 1, target.files).selectExpr(*columns)
    frame.write.format("delta").save(location)
    spark.sql("DROP TABLE IF EXISTS target")
    spark.sql(f"CREATE TABLE target USING delta LOCATION '{location}'")


def _changes(spark: SparkSession, location: str, target: _Target, where: str) -> None:
    more = 2 * target.rows // target.files // 10
    frame = spark.range(target.rows + more).where(where).selectExpr("id AS k", "CAST(1 AS DECIMAL(12, 2)) AS price")
    frame.coalesce(1).write.parquet(location)
    spark.read.parquet(location).createOrReplaceTempView("changes")


def _measured(spark: SparkSession, by_hand: str, runs: int) -> list[list[str]]:
    """Of each arm its median seconds, and how they compare with Spark's beside them.

    Raises:
        SpringbokError: the tables differ.
    """
    seconds: dict[str, list[float]] = {name: [] for name in _ARMS}
    contents: dict[str, Any] = {}
    for i in range(runs + 1):
        names = list(_ARMS)
        for name in names[i % len(names) :] + names[: i % len(names)]:
            more = f" AND {by_hand}" if name == "range by hand" else ""
            with applied(spark, _ARMS[name]):
                start = time.perf_counter()
                spark.sql(
                    f"MERGE INTO target t USING changes s ON t.id = s.k{more}"
                    " WHEN MATCHED THEN UPDATE SET price = s.price"
                    " WHEN NOT MATCHED THEN INSERT (id, price) VALUES (s.k, s.price)"
                ).collect()
                seconds[name].append(time.perf_counter() - start)
            if i == 0:
                sums = "count(*), sum(id), sum(price), sum(hash(id, price))"
                contents[name] = spark.sql(f"SELECT {sums} FROM target").collect()
            spark.sql("RESTORE TABLE target TO VERSION AS OF 0").collect()
    if any(c != contents["Spark"] for c in contents.values()):
        raise SpringbokError(f"The tables differ: {contents}.")
    timed = {name: s[1:] for name, s in seconds.items()}
    return [[n, f"{statistics.median(s):.2f}", *ratios(timed["Spark"], s)] for n, s in timed.items()]
