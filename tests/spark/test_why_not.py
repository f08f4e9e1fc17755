"""`why_not` on real tables with buckets: layouts, settings and names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import springbok
from pyspark.sql import SparkSession
from springbok.session import temporarily

SHUFFLED = {"spark.springbok.join.broadcastBytesLimit": "0", "spark.sql.autoBroadcastJoinThreshold": "-1"}
QUERY = "SELECT count(*) FROM {} l JOIN {} r ON l.k = r.k"


@pytest.fixture(scope="module")
def buckets(spark: SparkSession) -> Iterator[SparkSession]:
    for database, clause in (("why_a", "CLUSTERED BY (k) INTO 8 BUCKETS"), ("why_b", "")):
        spark.sql(f"CREATE DATABASE {database}")
        spark.sql(f"CREATE TABLE {database}.t USING parquet {clause} AS SELECT id AS k, id AS v FROM range(1000)")
    yield spark
    for database in ("why_a", "why_b"):
        spark.sql(f"DROP DATABASE {database} CASCADE")


def answer(spark: SparkSession, tables: tuple[str, str], what: str, table: str | None = None) -> str:
    df = spark.sql(QUERY.format(*tables))
    df.collect()
    return springbok.why_not(df, what, table)


def test_layouts_are_named(buckets: SparkSession) -> None:
    with temporarily(buckets, SHUFFLED):
        said = answer(buckets, ("why_a.t", "why_b.t"), "colocate")
        assert "why_a.t has 8 buckets by k and why_b.t is not bucketed" in said
        assert answer(buckets, ("why_a.t", "why_a.t"), "colocate") == "It has: every join is colocate."
        assert answer(buckets, ("why_a.t", "why_b.t"), "bucket shuffle") == "It has: every join is bucket shuffle."
        assert "partitioned and not bucket shuffle" in answer(buckets, ("why_b.t", "why_b.t"), "bucket shuffle")


def test_tables_of_one_name(buckets: SparkSession) -> None:
    with temporarily(buckets, SHUFFLED):
        with pytest.raises(springbok.SpringbokError, match=r"several tables: ask for one of why_a.t, why_b.t"):
            answer(buckets, ("why_a.t", "why_b.t"), "broadcast", "t")
        assert "not a broadcast hash join" in answer(buckets, ("why_a.t", "why_b.t"), "broadcast", "why_b.t")


def test_bucketing_that_is_off(buckets: SparkSession) -> None:
    with temporarily(buckets, {**SHUFFLED, "spark.sql.sources.bucketing.enabled": "false"}):
        said = answer(buckets, ("why_a.t", "why_a.t"), "colocate")
    assert "why_a.t has 8 buckets by k (spark.sql.sources.bucketing.enabled is false)" in said


def test_strategies_have_their_cost_or_what_rules_them_out(buckets: SparkSession) -> None:
    with temporarily(buckets, SHUFFLED):
        said = answer(buckets, ("why_a.t", "why_b.t"), "broadcast")
        assert "BUILD_SIDE_TOO_BIG" in said and "[spark.springbok.join.broadcastBytesLimit]" in said
    for what in ("merge", "hash"):
        assert " costs " in answer(buckets, ("why_a.t", "why_b.t"), what)


@pytest.mark.parametrize("what", ["nested loop", "in", "min-max", "bloom", "late"])
def test_every_answer_is_a_sentence_with_a_number(buckets: SparkSession, what: str) -> None:
    said = answer(buckets, ("why_a.t", "why_b.t"), what)
    assert re.search(r"\d", said) and said.endswith("."), said
