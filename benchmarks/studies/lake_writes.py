"""MERGE, UPDATE and DELETE on a Delta table, without and with Springbok: none should become slower."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import springbok
from springbok.errors import SpringbokError

from benchmarks.harness import formats, runner
from benchmarks.harness.arms import ARMS, applied
from benchmarks.harness.results import Table, ratios

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATEMENTS = {
    "MERGE of 1% of the keys, all in one file": (
        "MERGE INTO target t USING (SELECT * FROM changes WHERE k < {part}) s ON t.id = s.k"
        " WHEN MATCHED THEN UPDATE SET price = s.price"
    ),
    "MERGE of 1% of the keys, in all files": (
        "MERGE INTO target t USING (SELECT * FROM changes WHERE k % 100 = 7) s ON t.id = s.k"
        " WHEN MATCHED THEN UPDATE SET price = s.price WHEN NOT MATCHED THEN INSERT (id, price) VALUES (s.k, s.price)"
    ),
    "UPDATE of one file": "UPDATE target SET price = 0 WHERE id < {part}",
    "DELETE of 1% of the rows": "DELETE FROM target WHERE id % 100 = 3",
}
_HEAD = ["statement", "Spark s", "Springbok s", "ratio", "spread", "filters used"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """How large the table is."""
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the table, in ten files")
    parser.add_argument("--only", default="", help="the statements whose name has this in it")
    parser.add_argument("--runs", type=int, default=9, help="timed runs of each statement, after one that is not timed")


def run(args: argparse.Namespace) -> Table:
    """One row a statement."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "tables"
        spark = runner.session(args.master, args.memory, formats.settings("delta", source))
        _tables(spark, Path(folder), args.rows)
        rows: list[list[Any]] = [_HEAD]
        for name, text in _STATEMENTS.items():
            if args.only not in name:
                continue
            rows.append([name, *_measured(spark, text.format(part=args.rows // 100), args.runs)])
        spark.stop()
    return Table("lake-writes", "Writing to a Delta table", rows)


def _tables(spark: SparkSession, folder: Path, rows: int) -> None:
    columns = ("id", "CAST(id % 1000 AS DECIMAL(12, 2)) AS price", "concat('name-', id) AS name")
    spark.range(0, rows, 1, 10).selectExpr(*columns).write.format("delta").save(f"{folder}/target")
    spark.sql(f"CREATE TABLE target USING delta LOCATION '{folder}/target'")
    spark.range(rows).selectExpr("id AS k", "CAST(1 AS DECIMAL(12, 2)) AS price").write.parquet(f"{folder}/changes")
    spark.read.parquet(f"{folder}/changes").createOrReplaceTempView("changes")


def _measured(spark: SparkSession, sql: str, runs: int) -> list[str]:
    """Median seconds of both arms, the ratios of their runs, and how many filters the last statement used.

    Raises:
        SpringbokError: the table is another one with Springbok.
    """
    seconds: dict[str, list[float]] = {"spark": [], "springbok": []}
    contents, used = {}, 0
    for i in range(runs + 1):
        arms = list(seconds)
        for arm in arms if i % 2 else reversed(arms):
            with applied(spark, ARMS[arm]):
                before = _filters(spark)
                start = time.perf_counter()
                spark.sql(sql).collect()
                seconds[arm].append(time.perf_counter() - start)
                if arm == "springbok":
                    used = sum(n for query, n in _filters(spark).items() if query not in before)
            contents[arm] = spark.sql(
                "SELECT count(*), sum(id), sum(price), sum(hash(id, price)) FROM target"
            ).collect()
            spark.sql("RESTORE TABLE target TO VERSION AS OF 0").collect()
    if contents["spark"] != contents["springbok"]:
        raise SpringbokError(f"The tables differ after: {sql}.")
    off, on = (s[1:] for s in seconds.values())
    figures = [f"{statistics.median(s):.2f}" for s in (off, on)]
    return [*figures, *ratios(off, on), str(used)]


def _filters(spark: SparkSession) -> dict[int, int]:
    """The filters that each query of the session used, by the query's number."""
    reports = [r for r in springbok.last_reports(spark, 100) if r.execution]
    return {r.execution.id: sum(f.status == "used" for f in r.filters) for r in reports if r.execution}
