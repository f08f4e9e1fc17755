"""What the history of finished queries costs: lookups and recording by TPC-DS query, and loading a shared history.

Each round runs all queries once, with a history. Lookups are part of the planning of a query. Recording happens after
its end, and no query waits for it. Rounds before the counted ones warm the JVM up, and fill the history.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.session import temporarily

from benchmarks import suites
from benchmarks.harness import data, measure, runner
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ON = {"spark.springbok.history.enabled": "true"}
_HEAD = ["ms", "median", "p95", "maximum"]
Times = dict[str, list[float]]
"""Times in ms by what was done."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which queries, on which data, and how often."""
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--layout", choices=data.LAYOUTS, default="clustered")
    parser.add_argument("--queries", default="all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmups", type=int, default=2, help="rounds before them that are not counted")
    parser.add_argument("--entries", type=int, default=100_000, help="entries of the shared history that is loaded")


def run(args: argparse.Namespace) -> Table:
    """One row for lookups, for recording and for loading."""
    spark = runner.session(args.master, args.memory)
    runner.prepare(spark, runner.Experiment("tpcds", args.scale, args.layout, ("springbok",), args.data))
    times = _queries(spark, suites.chosen("tpcds", args.queries), args.warmups, args.rounds)
    with tempfile.TemporaryDirectory() as folder:
        times[f"loading {args.entries:,} entries"] = _loading(spark, Path(folder), args.entries, args.rounds)
    spark.stop()
    title = f"What a history costs, TPC-DS at scale {args.scale:g}"
    return Table("history", title, table(times), {"times": times})


def _queries(spark: SparkSession, queries: Mapping[str, str], warmups: int, rounds: int) -> Times:
    bus: Any = spark._jsc.sc().listenerBus()
    times: Times = {"lookups of a query": [], "recording of a query": []}
    with temporarily(spark, _ON):
        for n in range(-warmups, rounds):
            for sql in queries.values():
                before = _spent(spark)
                spark.sql(sql).collect()
                bus.waitUntilEmpty()
                if n >= 0:
                    for each, took, old in zip(times.values(), _spent(spark), before, strict=True):
                        each.append(round(took - old, 3))
    return times


def _spent(spark: SparkSession) -> tuple[float, float]:
    """Milliseconds of all lookups and of all recording so far."""
    return measure.rules_ms(spark).get("History", 0.0), measure.aside_ms(spark).get("LearnRows", 0.0)


def _loading(spark: SparkSession, folder: Path, entries: int, rounds: int) -> list[float]:
    (folder / "history-0.jsonl").write_text("".join(_line(i) for i in range(entries)))
    java: Any = spark._jvm
    classes = java.org.apache.spark.sql.springbok.stats.history
    times = []
    for _ in range(rounds):
        path = java.org.apache.hadoop.fs.Path(folder.as_uri())
        reader = classes.HistoryFolder(path, spark._jsc.hadoopConfiguration(), 1 << 30, entries)
        start = time.perf_counter()
        found = reader.load(int(time.time() * 1000))
        times.append(round((time.perf_counter() - start) * 1000, 3))
        if found.size() != entries:
            raise ValueError(f"{found.size()} of {entries} entries were read.")
    return times


def _line(i: int) -> str:
    text = (
        f'{{"v":1,"rows":{i},"key":"{i:032x}","runs":3,"last":1764000000000,"inputs":[[2,1024,"{i:032x}"],[1,99,"{i:032x}"]],'
        f'"label":"Join of default.store_sales, default.item on ss_item_sk = i_item_sk {i}"}}'
    )
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def table(times: Mapping[str, Sequence[float]]) -> list[list[Any]]:
    """Times by what was done."""
    rows: list[list[Any]] = [_HEAD]
    for what, each in times.items():
        values = sorted(each)
        figures = (statistics.median(values), values[int(len(values) * 0.95)], values[-1])
        rows.append([what, *(f"{f:.2f}" for f in figures)])
    return rows
