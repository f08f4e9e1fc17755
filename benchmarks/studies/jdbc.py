"""A filtered dimension joined to a large table of PostgreSQL: rows sent and time, without and with Springbok."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.errors import SpringbokError

from benchmarks.harness import measure, runner
from benchmarks.harness.arms import ARMS, applied
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DAYS = 1000
_QUERIES = {
    "30 of 1,000 days": "d.month = 7",
    "1 of 1,000 days": "d.label = 'd7'",
    "all days": "d.month >= 0",
}
_HEAD = ["dimension", "rows, Spark", "rows, Springbok", "Spark s", "Springbok s", "ratio"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """How large the remote table is."""
    parser.add_argument("--rows", type=int, default=3_000_000, help="rows of the remote table")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each query, after one that is not timed")


def run(args: argparse.Namespace) -> Table:
    """One row a query.

    Raises:
        SpringbokError: the package pgserver is not installed.
    """
    try:
        from benchmarks.harness import postgres
    except ImportError as e:
        raise SpringbokError("The study needs PostgreSQL: pip install pgserver, on Python 3.12 or older.") from e
    spark = runner.session(args.master, args.memory, {"spark.jars": str(postgres.driver())})
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with postgres.serving(Path(folder) / "postgres", table(args.rows)) as options:
            rows = measured(spark, Path(folder), options, args.runs)
        spark.stop()
    return Table("jdbc", "A table of PostgreSQL", rows)


def table(rows: int) -> list[str]:
    """The statements that make the remote table; each day has as many rows."""
    return [
        f"CREATE TABLE sales AS SELECT g AS id, (g % {_DAYS})::int AS day, (g % 97)::int AS store,"
        f" (g * 7 % 1000)::numeric(12, 2) AS price FROM generate_series(1::bigint, {rows}) g",
        "CREATE INDEX ON sales (day)",
        "ANALYZE sales",
    ]


def measured(spark: SparkSession, folder: Path, options: dict[str, str], runs: int) -> list[list[Any]]:
    """Rows that both tables send, and seconds, of each query in both arms.

    Raises:
        SpringbokError: the answers differ.
    """
    days = str(folder / "days.parquet")
    spark.range(_DAYS).selectExpr("CAST(id AS INT) AS day", "id DIV 30 AS month", "concat('d', id) AS label").coalesce(
        1
    ).write.parquet(days)
    spark.read.parquet(days).createOrReplaceTempView("days")
    spark.read.format("jdbc").options(**options, dbtable="sales").load().createOrReplaceTempView("sales")
    rows: list[list[Any]] = [_HEAD]
    for name, where in _QUERIES.items():
        sql = (
            "SELECT s.store, d.month, sum(s.price), count(*) FROM sales s JOIN days d ON s.day = d.day"
            f" WHERE {where} GROUP BY s.store, d.month"
        )
        done: dict[str, list[measure.Run]] = {"spark": [], "springbok": []}
        for _ in range(runs + 1):
            for arm, into in done.items():
                with applied(spark, ARMS[arm]):
                    into.append(measure.run(spark, sql))
        if done["spark"][-1].rows != done["springbok"][-1].rows:
            raise SpringbokError(f"The answers differ: {sql}.")
        off, on = (statistics.median(r.figures.seconds for r in done[a][1:]) for a in done)
        sent = [f"{done[a][-1].figures.rows_read:,}" for a in done]
        rows.append([name, *sent, f"{off:.2f}", f"{on:.2f}", f"{off / on:.2f}x"])
    return rows
