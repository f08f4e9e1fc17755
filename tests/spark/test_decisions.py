"""Plans and decisions of a few queries, as `python -m qa.decisions record` writes them for all."""

from __future__ import annotations

from pathlib import Path

import pytest
from goldens import GOLDEN, golden
from pyspark.sql import SparkSession
from qa import cases, decisions
from springbok.jar import installed

from benchmarks import suites
from benchmarks.harness import data

pytestmark = pytest.mark.skipif(installed().line != "4.2", reason="the decisions were recorded on Spark 4.2")


@pytest.fixture(scope="module")
def ssb(spark: SparkSession, tpch: Path) -> SparkSession:
    return decisions.load(spark, data.folder(spark, tpch.parents[1], "ssb", 0.01, "plain"))


@pytest.mark.parametrize("name", ["q3", "q4"])
def test_decisions_about_tpch_are_as_they_were(spark: SparkSession, tpch: Path, name: str) -> None:
    check(decisions.load(spark, tpch), "tpch", name)


def test_decisions_about_ssb_are_as_they_were(ssb: SparkSession) -> None:
    check(ssb, "ssb", "2.1")


@pytest.mark.slow
def test_decisions_about_tpcds_are_as_they_were(tpcds: SparkSession) -> None:
    check(tpcds, "tpcds", "q3")


@pytest.mark.slow
def test_decisions_about_small_statements_are_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    own = cases.load(spark, tmp_path)
    for name in cases.CASES:
        golden(GOLDEN / "decisions" / f"cases-{name}.txt", decisions.of_cases(own, name))


def check(session: SparkSession, suite: str, name: str) -> None:
    text = decisions.decisions(session, suite, name, suites.queries(suite)[name])
    golden(GOLDEN / "decisions" / f"{suite}-{name}.txt", text)
