"""Python's texts and the JVM's, of which EXPLAIN and the HTML page are made, say the same of the same report."""

from __future__ import annotations

from typing import Any

import pytest
import springbok
from goldens import GOLDEN
from pyspark.sql import DataFrame, SparkSession
from springbok.render import words
from springbok.reports import Report
from springbok.tpch import query


@pytest.fixture(scope="module")
def jvm(spark: SparkSession) -> Any:
    """The package of the JVM's reports."""
    java: Any = spark._jvm
    return java.org.apache.spark.sql.springbok.report


@pytest.fixture(scope="module")
def reports(spark: SparkSession, executed: DataFrame) -> list[Report]:
    stored = Report.from_json((GOLDEN / "q3-executed.json").read_text(encoding="utf-8"))
    # Groups without a join key, subqueries, outer joins, a statement that writes, and tables without statistics.
    texts = [query(name) for name in ("q11", "q13", "q21", "q22")]
    texts += [
        "SELECT count(*) FROM orders a JOIN nation n ON a.o_orderkey < n.n_nationkey CROSS JOIN region",
        "EXPLAIN SELECT 1",
    ]
    planned = [springbok.report(spark.sql(text)) for text in texts]
    return [stored, springbok.report(executed), *planned]


def option(found: Any) -> str | None:
    """An Option[String]."""
    return found.get() if found.isDefined() else None


def seq(found: Any) -> list[Any]:
    """A Seq."""
    return [found.apply(i) for i in range(found.size())]


@pytest.mark.parametrize(
    "n",
    [
        0,
        1,
        17,
        999,
        1023,
        1024,
        1300,
        99_999,
        123_455,
        123_456,
        288_000,
        2.5,
        1_048_575,
        1_048_576,
        7e9,
        3.4e13,
        1e45,
        1e300,
    ],
)
def test_numbers(spark: SparkSession, jvm: Any, n: float) -> None:
    assert words.amount(n) == jvm.Words.amount(float(n))
    reason: Any = spark._jvm.org.apache.spark.sql.springbok.reason.Reason  # type: ignore[union-attr]
    assert words.size(n) == reason.bytes(float(n))


def test_joins(jvm: Any, reports: list[Report]) -> None:
    seen = 0
    for r in reports:
        for own, other in zip(r.joins, seq(jvm.ReportJson.read(r.to_json()).joins()), strict=True):
            assert words.keys(own) == jvm.Words.keys(other)
            assert words.factor(own.q_error).removeprefix(", ") == jvm.Words.factor(other.qError())
            if own.strategy:
                assert words.strategy(own) == option(jvm.Words.strategy(other))
                alone = option(jvm.Words.sparkAlone(other))
                assert (alone or words.spark_alone(own)) == words.spark_alone(own)
                assert alone or words.spark_alone(own) in ("the same", "")
            for a, b in zip(own.alternatives, seq(other.alternatives()), strict=True):
                # Python also names the setting that rules it out.
                setting = a.ruled_out.setting if a.ruled_out else None
                assert words.cost_of(a).removesuffix(f" [{setting}]") == jvm.Words.cost(b)
                seen += 1
    assert seen > 50


def test_filters(jvm: Any, reports: list[Report]) -> None:
    used = 0
    for r in reports:
        for own, other in zip(r.filters, seq(jvm.ReportJson.read(r.to_json()).filters()), strict=True):
            assert words.removed(own) == jvm.Words.removed(other)
            assert str(own.reason).removesuffix(f" [{own.reason.setting}]") == jvm.Words.reason(other.reason())
            told = [option(jvm.Words.told(other)), *seq(jvm.Words.late(other))]
            assert all(text in words.effect(own) for text in told if text)
            target = option(jvm.Words.target(other))
            assert target is None or f" {target} <- " in words.filter_name(own)
            used += own.status == "used"
    assert used > 2


def test_tables_operators_and_the_query(jvm: Any, reports: list[Report]) -> None:
    aggregates = 0
    for r in reports:
        other = jvm.ReportJson.read(r.to_json())
        assert words.which(r) == jvm.Words.which(other)
        for t, u in zip(r.tables, seq(other.tables()), strict=True):
            assert words.read(t) == jvm.Words.read(u)
            assert words.scanned(t) == seq(jvm.Words.scanned(u))
        nodes = [n for f in r.fragments for n in f.nodes]
        for n, m in zip(nodes, [m for f in seq(other.fragments()) for m in seq(f.nodes())], strict=True):
            if n.aggregate:
                assert words.aggregate(n.aggregate) == jvm.Words.aggregate(m.aggregate().get())
                aggregates += 1
        if r.execution:
            assert words.ran(r.execution) == jvm.Words.run(other.execution().get())
        if r.saved:
            assert words.saved(r) == (option(jvm.Words.saved(other.saved().get())) or "")
        if r.sink:
            assert words.sink(r.sink) == jvm.Words.sink(other.sink().get())
    assert aggregates > 5
