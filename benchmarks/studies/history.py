"""A dashboard of 50 queries with the same dimension filters, without and with a history; and loading a shared one."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import zlib
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.errors import SpringbokError

from benchmarks.harness import formats, jobs, runner
from benchmarks.harness.arms import ARMS
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEARNED = ARMS["springbok+history"]
_ARMS = {
    "Springbok": ARMS["springbok"],
    "with learned rows": _LEARNED,
    "Spark": ARMS["spark"],
}
_GROUPS = ("i_brand", "i_class", "s_store_name", "d_date", "d_day_name")
_MEASURES = (
    "count(*)",
    "sum(ss_quantity)",
    "sum(ss_net_paid)",
    "sum(ss_net_profit)",
    "sum(ss_ext_discount_amt)",
    "max(ss_sales_price)",
    "min(ss_wholesale_cost)",
    "avg(ss_ext_list_price)",
    "sum(ss_coupon_amt)",
    "count(DISTINCT ss_ticket_number)",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """On which data, how often, and the size of the shared history."""
    parser.add_argument("--scale", type=float, default=10)
    parser.add_argument("--runs", type=int, default=3, help="timed runs of the dashboard in each arm, after one more")
    parser.add_argument("--entries", type=int, default=100_000, help="entries of the shared history that is loaded")


def run(args: argparse.Namespace) -> Table:
    """One row for each arm, and one for the loading.

    Raises:
        SpringbokError: answers differ, or not all entries are loaded.
    """
    e = runner.Experiment("tpcds", args.scale, "clustered", ("springbok",), args.data, args.runs, 1, "parquet")
    spark = runner.session(args.master, args.memory, formats.settings(e.form, e.source))
    runner.prepare(spark, e)
    found = jobs.measured(spark, "dashboard", _dashboard, _ARMS, args.runs)
    with tempfile.TemporaryDirectory() as folder:
        loads = [_load(spark, Path(folder), args.entries) for _ in range(args.runs + 1)][1:]
    spark.stop()
    rows: list[list[Any]] = [jobs.HEAD, *jobs.rows("dashboard", found)]
    took = statistics.median(loads)
    rows.append([f"loading {args.entries:,} entries", "", "", f"{took:.2f}", "", "", "", ""])
    details = {"runs": {arm: r.seconds for arm, r in found.items()}, "loading": loads}
    return Table("history", f"A dashboard of 50 queries on TPC-DS at scale {args.scale:g}", rows, details)


def _dashboard(spark: SparkSession) -> tuple[Any, int]:
    """Each measure by each group, all of them for one quarter, two categories and the stores of one state."""
    tiles = [
        f"SELECT {group}, {measure} FROM store_sales"
        " JOIN date_dim ON ss_sold_date_sk = d_date_sk"
        " JOIN item ON ss_item_sk = i_item_sk"
        " JOIN store ON ss_store_sk = s_store_sk"
        " WHERE d_year = 2001 AND d_qoy = 4 AND i_category IN ('Books', 'Music') AND s_state = 'TN'"
        f" GROUP BY {group} ORDER BY {group}"
        for group, measure in product(_GROUPS, _MEASURES)
    ]
    return [spark.sql(t).collect() for t in tiles], len(tiles)


def _load(spark: SparkSession, folder: Path, entries: int) -> float:
    """Seconds in which a shared history is read."""
    file = folder / "history-0.jsonl"
    if not file.exists():
        file.write_text("".join(_line(i) for i in range(entries)))
    java: Any = spark._jvm
    path = java.org.apache.hadoop.fs.Path(folder.as_uri())
    classes = java.org.apache.spark.sql.springbok.stats.history
    reader = classes.HistoryFolder(path, spark._jsc.hadoopConfiguration(), 1 << 30, entries)
    start = time.perf_counter()
    found = reader.load(int(time.time() * 1000))
    took = time.perf_counter() - start
    if found.size() != entries:
        raise SpringbokError(f"{found.size()} of {entries} entries were read.")
    return round(took, 3)


def _line(i: int) -> str:
    inputs = f'[[2,1024,"{i:032x}"],[1,99,"{i:032x}"]]'
    label = f"Join of default.store_sales, default.item on ss_item_sk = i_item_sk {i}"
    text = (
        f'{{"v":1,"rows":{i},"key":"{i:032x}","runs":3,"last":1764000000000,"inputs":{inputs},'
        f'"distinct":{{"{i:032x}":{i // 2}}},"label":"{label}"}}'
    )
    return f"{zlib.crc32(text.encode()):08x} {text}\n"
