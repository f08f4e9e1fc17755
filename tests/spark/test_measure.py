"""What the benchmarks ask the JVM: the figures of a run, filters, and the joins of a query."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from springbok.reports import report

from benchmarks.harness import measure
from benchmarks.studies import estimates, filter_merging


def test_figures_of_a_run(spark: SparkSession, tpch: Path) -> None:
    run = measure.run(spark, "SELECT c_mktsegment, count(*) FROM customer GROUP BY c_mktsegment")
    assert len(run.rows) == 5
    assert run.figures.rows_read == spark.table("customer").count()
    assert run.figures.stages >= 2
    assert run.figures.shuffle_rows >= 5
    assert run.figures.seconds > 0


def test_merging_of_a_small_filter(spark: SparkSession) -> None:
    head, row = filter_merging.measure(spark, [4096])
    assert len(row) == len(head)
    assert row[0] == "4,096"


def test_estimates_of_a_join_by_its_number(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql("SELECT count(*) FROM orders JOIN customer ON o_custkey = c_custkey")
    df.collect()
    assert estimates.spark_estimates(df) == {j.id: None for j in report(df).joins}
