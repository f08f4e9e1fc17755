"""Answers without and with Springbok, on each query of TPC-H, and from outside on other masters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import springbok
from pyspark.sql import DataFrame, SparkSession
from springbok.cli import demo
from springbok.reports import Report
from springbok.session import temporarily
from springbok.tpch import QUERIES, query


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_equal(spark: SparkSession, tpch: Path, name: str, valid: Callable[[Report], None]) -> None:
    valid(springbok.report(spark.sql(query(name))))
    row, report = demo.measure(spark, name, 1)
    valid(report)
    assert row.equal
    assert not report.failures
    assert all(j.reason for j in report.joins)


# Subqueries, shared stages and stages without rows; the slow tests have all queries.
_QUICK = ("q2", "q5", "q11", "q20", "q21", "q22")


@pytest.mark.parametrize("name", [n if n in _QUICK else pytest.param(n, marks=pytest.mark.slow) for n in QUERIES])
def test_explain_agrees_with_the_plan(
    spark: SparkSession, tpch: Path, name: str, explained: Callable[[DataFrame], None]
) -> None:
    df = spark.sql(query(name))
    explained(df)
    df.collect()
    explained(df)


def test_answers_are_equal_in_any_join_order(spark: SparkSession, tpch: Path) -> None:
    """Orders are taken however little they gain. Filters would leave nothing to gain."""
    changed = []
    reorder = "spark.springbok.reorder"
    settings = {f"{reorder}.enabled": "true", f"{reorder}.minGain": "0", f"{reorder}.minGainMs": "0"}
    settings["spark.springbok.runtimeFilter.mode"] = "OFF"
    with temporarily(spark, settings):
        for name in ("q2", "q5", "q7", "q8", "q9", "q10", "q11", "q21"):
            row, report = demo.measure(spark, name, 1)
            assert row.equal, name
            changed += [name for o in report.join_order if o.after]
    assert changed
