"""What the benchmarks ask the JVM: the figures of a run, filters, and the joins of a query."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from springbok.reports import report

from benchmarks.harness import measure
from benchmarks.studies import build_tasks, estimates


def test_figures_of_a_run(spark: SparkSession, tpch: Path) -> None:
    run = measure.run(spark, "SELECT c_mktsegment, count(*) FROM customer GROUP BY c_mktsegment")
    assert len(run.rows) == 5
    assert run.figures.rows_read == spark.table("customer").count()
    assert run.figures.stages >= 2
    assert run.figures.shuffle_rows >= 5
    assert run.figures.seconds > 0


def test_a_filter_of_many_build_tasks(spark: SparkSession, tpch: Path, tmp_path: Path) -> None:
    (tmp_path / "orders.parquet").symlink_to(tpch / "orders.parquet")
    build_tasks.files(spark, tmp_path, 20)
    assert spark.table("orders_in_files").rdd.getNumPartitions() <= 20
    row = build_tasks.row(spark, build_tasks.QUERY.format(since="1998-06-01"), runs=1)
    assert len(row) == len(build_tasks.HEAD) - 1


def test_estimates_of_a_join_by_its_number(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql("SELECT count(*) FROM orders JOIN customer ON o_custkey = c_custkey")
    df.collect()
    assert estimates.spark_estimates(df) == {j.id: None for j in report(df).joins}
