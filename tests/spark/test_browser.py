"""Reports in a real browser: they show without a network, without scripts, and in both colour schemes."""

from __future__ import annotations

from pathlib import Path

import browser
import pytest
import springbok
from pyspark.sql import SparkSession
from springbok.tpch import query

from benchmarks.suites import spark_tests

pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed")


@pytest.mark.parametrize("name", ["q3", "q5", "q21"])
def test_a_report_of_tpch_opens(spark: SparkSession, tpch: Path, tmp_path: Path, name: str) -> None:
    _opens(spark, query(name), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["q4", "q64", "q72"])
def test_a_report_of_tpcds_opens(tpcds: SparkSession, tmp_path: Path, name: str) -> None:
    _opens(tpcds, spark_tests.texts("tpcds")[name], tmp_path)


def _opens(spark: SparkSession, sql: str, tmp_path: Path) -> None:
    df = spark.sql(sql)
    df.collect()
    r = springbok.report(df)
    page = r.save_html(tmp_path / "report.html").as_uri()
    dom = browser.browse(page, "--dump-dom")
    assert dom.count("<rect") == len(r.fragments)
    arrows = [t for f in r.filters if f.status == "used" for t in f.to_fragments if t != f.from_fragment]
    assert dom.count('class="filter"') == len(arrows)
    pictures = []
    for dark in (False, True):
        picture = tmp_path / f"{dark}.png"
        browser.screenshot(page, str(picture), dark=dark)
        pictures.append(picture.read_bytes())
    assert all(p.startswith(b"\x89PNG") for p in pictures) and pictures[0] != pictures[1]
