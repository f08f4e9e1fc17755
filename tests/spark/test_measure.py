"""The figures that the benchmarks take of a run."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks import measure


def test_figures_of_a_run(spark: SparkSession, tpch: Path) -> None:
    run = measure.run(spark, "SELECT c_mktsegment, count(*) FROM customer GROUP BY c_mktsegment")
    assert len(run.rows) == 5
    assert run.figures.rows_read == spark.table("customer").count()
    assert run.figures.stages >= 2
    assert run.figures.shuffle_rows >= 5
    assert run.figures.seconds > 0
