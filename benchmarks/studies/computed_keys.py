"""Join keys that are expressions which might raise an error: what their filters save, against plans without filters."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from benchmarks.harness import jobs, runner
from benchmarks.harness.arms import ARMS
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARMS = {"Springbok": ARMS["springbok"], "without filters": ARMS["without-filters"], "Spark": ARMS["spark"]}
_DAYS = "(SELECT * FROM date_dim WHERE d_year = 2001 AND d_qoy = 4)"
_ITEMS = "(SELECT * FROM item WHERE i_category = 'Books' AND i_class = 'history')"
# In ANSI mode each of these keys may raise an error.
_QUERIES = {
    "a day later, d + 1": "SELECT count(*), sum(ss_quantity) FROM store_sales"
    f" JOIN {_DAYS} ON ss_sold_date_sk + 1 = d_date_sk",
    "a sum of columns": "SELECT count(*), sum(ss_quantity) FROM store_sales"
    f" JOIN {_ITEMS} ON ss_item_sk + ss_promo_sk * 0 = i_item_sk",
    "a cast of a string": "SELECT count(*), sum(ss_quantity) FROM store_sales"
    f" JOIN {_ITEMS} ON CAST(concat('', ss_item_sk) AS INT) = i_item_sk",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """On which data, and how often."""
    parser.add_argument("--scale", type=float, default=10)
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each query in each arm, after one more")


def run(args: argparse.Namespace) -> Table:
    """One row for each query and arm.

    Raises:
        SpringbokError: the answers of the arms differ.
    """
    e = runner.Experiment("tpcds", args.scale, "clustered", ("springbok",), args.data, args.runs, 1, "parquet")
    spark = runner.session(args.master, args.memory, {"spark.sql.ansi.enabled": "true"})
    runner.prepare(spark, e)
    details = {}
    rows: list[list[Any]] = [jobs.HEAD]
    for name, sql in _QUERIES.items():
        measured = jobs.measured(spark, name, _job(sql), _ARMS, args.runs)
        details[name] = {arm: r.seconds for arm, r in measured.items()}
        rows += jobs.rows(name, measured)
    spark.stop()
    return Table(
        "computed-keys", f"Keys that might raise an error, TPC-DS at scale {args.scale:g}", rows, {"runs": details}
    )


def _job(sql: str) -> jobs.Job:
    def once(spark: SparkSession) -> tuple[Any, int]:
        return spark.sql(sql).collect(), 1

    return once
