"""Questions about a query: `why_not` and `compare`."""

from __future__ import annotations

from pathlib import Path

import pytest
import springbok
from pyspark.sql import DataFrame, SparkSession
from springbok.session import temporarily
from springbok.tpch import query


def test_why_not(spark: SparkSession, executed: DataFrame) -> None:
    assert "every join is a broadcast hash join" in springbok.why_not(executed, "broadcast")
    merge = springbok.why_not(executed, "merge", table="lineitem")
    assert "not a sort-merge join because sort-merge: costs" in merge and merge.endswith(".")
    assert springbok.why_not(executed, "filter", table="lineitem").startswith("It has: RF001")
    with temporarily(spark, {"spark.springbok.join.broadcastBytesLimit": "0"}):
        answer = springbok.why_not(spark.sql(query("q3")), "broadcast")
    assert "BUILD_SIDE_TOO_BIG" in answer and "spark.springbok.join.broadcastBytesLimit" in answer
    none = springbok.why_not(executed, "bloom", table="customer")
    assert none.startswith("There is no bloom filter on customer") or "declined" in none
    with pytest.raises(springbok.SpringbokError, match="reads no table 'nation'; it reads customer, lineitem, orders"):
        springbok.why_not(executed, "filter", table="nation")
    with pytest.raises(springbok.SpringbokError, match="neither a distribution, nor a strategy, nor a filter"):
        springbok.why_not(executed, "teleport")


def test_compare(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql(query("q5"))
    c = springbok.compare(df)
    assert c.equal is None and c.off.state == c.on.state == "planned"
    assert len(c.joins) == 5 and all(j.off and j.on for j in c.joins)
    assert not c.off.filters and c.on.filters
    assert springbok.report(df).state == "planned" and spark.conf.get("spark.springbok.enabled") == "true"
    c = springbok.compare(df, run=True)
    assert c.equal and c.seconds_on and c.on.state == "executed"
    text = str(c)
    assert "the answers are equal" in text and max(map(len, text.splitlines())) <= 100
    assert "answers are equal" in c._repr_html_()


def test_joins_below_python_functions_over_partitions_keep_their_order(spark: SparkSession, tpch: Path) -> None:
    # Such a function may depend on the order of its rows.
    joined = spark.sql(
        "SELECT l_quantity FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey"
    )
    with temporarily(spark, {"spark.springbok.reorder.enabled": "true"}):
        df = joined.mapInPandas(lambda parts: parts, joined.schema)
        assert [o.reason.code for o in springbok.report(df).join_order] == ["ROW_ORDER"]
        assert [o.reason.code for o in springbok.report(joined).join_order] != ["ROW_ORDER"]
