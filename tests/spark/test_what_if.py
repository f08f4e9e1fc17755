"""Reports of a query as it would be planned on another cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
import springbok
from pyspark.sql import SparkSession
from springbok.reports import Report

SQL = "SELECT count(*), max(o_comment) FROM lineitem JOIN orders ON l_orderkey = o_orderkey"


def _broadcast(r: Report) -> float:
    costs = [a.cost_bytes for j in r.joins for a in j.alternatives if a.strategy.startswith("broadcast hash")]
    return min(c for c in costs if c is not None)


def test_more_executors_make_a_broadcast_dearer(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql(SQL)
    here, there = springbok.report(df), springbok.report(df, executors=50, executor_memory="32g", cores=8)
    assert _broadcast(there) > 50 * _broadcast(here)
    assert there.state == "planned"
    assert there.settings["spark.springbok.cluster.executors"] == "50"
    # Neither the session nor the query has changed.
    assert spark.conf.get("spark.springbok.cluster.executors", None) in (None, "0")
    assert springbok.report(df) == here


def test_a_query_that_has_run_is_planned_anew(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql(SQL)
    df.collect()
    assert springbok.report(df, executors=2).state == "planned"
    assert springbok.report(df).state == "executed"


def test_memory_bounds_what_is_broadcast(spark: SparkSession, tpch: Path) -> None:
    r = springbok.report(spark.sql(SQL), executor_memory="1m")
    ruled_out = [a.ruled_out for a in r.joins[0].alternatives if a.strategy.startswith("broadcast hash")]
    assert all(why is not None and why.code == "BUILD_SIDE_TOO_BIG_FOR_HEAP" for why in ruled_out)


def test_commands_do_not_run_again(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.sql(f"CREATE TABLE what_if USING parquet LOCATION '{tmp_path / 't'}' AS SELECT 1 AS a")
    try:
        assert springbok.report(df, executors=3).joins == ()
    finally:
        spark.sql("DROP TABLE what_if")


def test_wrong_shapes_say_so(spark: SparkSession) -> None:
    df = spark.range(3)
    with pytest.raises(springbok.SpringbokError, match="whole number"):
        springbok.report(df, executors=-1)
    with pytest.raises(springbok.SpringbokError, match="size such as"):
        springbok.report(df, executor_memory="lots")
