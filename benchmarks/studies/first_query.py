"""The first query of a session against later ones, in fresh processes without and with Springbok."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from springbok.session import configure

from benchmarks.harness.fresh import fresh
from benchmarks.harness.results import Table

_LATER = 5
_SALES = 2_000_000
_TABLES = {
    "sales": ("id", "id % 365 AS day", "pmod(hash(id), 2000) AS item", "CAST(id % 997 AS DOUBLE) AS price"),
    "days": ("id AS day", "id DIV 31 AS month"),
    "items": ("id AS item", "id % 20 AS brand"),
}
_ROWS = {"sales": _SALES, "days": 365, "items": 2000}
_QUERY = (
    "SELECT i.brand, d.month, sum(s.price) FROM sales s JOIN items i ON s.item = i.item JOIN days d ON s.day = d.day"
    " WHERE d.month = 3 AND i.brand < 5 GROUP BY i.brand, d.month ORDER BY 1, 2"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """How many processes."""
    parser.add_argument("--runs", type=int, default=7, help="processes of each arm")


def run(args: argparse.Namespace) -> Table:
    """One row an arm. Spark's arm has no extension at all."""
    seconds: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        fresh(_make, folder, args.master, args.memory)
        for i in range(args.runs):
            for on in (False, True) if i % 2 else (True, False):
                seconds[on].append(fresh(_times, folder, args.master, args.memory, on))
    rows: list[list[Any]] = [["arm", "session s", "first query s", "later queries s", "first less later s"]]
    for on, runs in seconds.items():
        session, first, later = (statistics.median(column) for column in zip(*runs, strict=True))
        less = statistics.median(f - n for _, f, n in runs)
        figures = [f"{value:.2f}" for value in (session, first, later, less)]
        rows.append(["Springbok" if on else "Spark", *figures])
    return Table(
        "first-query", "The first query of a session", rows, {"runs": {str(on): r for on, r in seconds.items()}}
    )


def _session(master: str, memory: str, on: bool) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).config("spark.driver.memory", memory)
    builder = builder.config("spark.log.level", "ERROR").config("spark.sql.shuffle.partitions", "8")
    return (configure(builder) if on else builder).getOrCreate()


def _make(folder: str, master: str, memory: str) -> None:
    spark = _session(master, memory, on=False)
    for name, columns in _TABLES.items():
        spark.range(_ROWS[name]).selectExpr(*columns).write.parquet(str(Path(folder) / name))
    spark.stop()


def _times(folder: str, master: str, memory: str, on: bool) -> tuple[float, float, float]:
    """Seconds to make the session, of its first join, and the median of later runs of the same query."""
    start = time.perf_counter()
    spark = _session(master, memory, on)
    made = time.perf_counter() - start
    for name in _TABLES:
        spark.read.parquet(str(Path(folder) / name)).createOrReplaceTempView(name)
    spark.sql("SELECT sum(price), count(DISTINCT day) FROM sales").collect()
    took = []
    for _ in range(1 + _LATER):
        start = time.perf_counter()
        spark.sql(_QUERY).collect()
        took.append(time.perf_counter() - start)
    spark.stop()
    return made, took[0], statistics.median(took[1:])
