from __future__ import annotations

import json
from pathlib import Path

import pytest
import springbok
from pyspark.sql import DataFrame, SparkSession
from springbok import demo
from springbok.report import Report


@pytest.fixture(scope="module")
def executed(spark: SparkSession, tpch: Path) -> DataFrame:
    df = spark.sql(demo.query("q3"))
    df.collect()
    return df


def test_it_never_runs_the_query(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql(demo.query("q3"))
    r = springbok.report(df)
    assert r.state == "planned"
    assert r.joins and all(j.output_rows is None for j in r.joins)
    assert springbok.report(df).state == "planned"


def test_the_report_of_a_query_that_ran(executed: DataFrame) -> None:
    r = springbok.report(executed)
    assert r.state == "executed"
    assert {t.name for t in r.tables} == {"customer", "orders", "lineitem"}
    assert all(t.rows_source == "footer" for t in r.tables)
    assert all(j.reason and j.strategy and j.output_rows is not None for j in r.joins)
    used = [f for f in r.filters if f.status == "used"]
    assert used
    on_lineitem = [f for f in used if f.target_table == "lineitem"]
    assert on_lineitem and on_lineitem[0].rows_removed
    assert not r.failures


def test_text_is_readable_at_100_columns(executed: DataFrame) -> None:
    text = str(springbok.report(executed))
    assert max(len(line) for line in text.splitlines()) <= 100
    for part in ("Tables", "Joins", "Runtime filters", "RF000", "removed", "LOWEST_COST"):
        assert part in text


def test_data_goes_round(executed: DataFrame) -> None:
    r = springbok.report(executed)
    assert Report.from_json(r.to_json()) == r
    assert json.loads(r.to_json()) == r.to_dict()
    with pytest.raises(springbok.SpringbokError, match="format 99"):
        Report.from_json('{"version": 99}')


def test_html_is_self_contained_and_escaped(spark: SparkSession, tmp_path: Path) -> None:
    name = "a<script>alert(1)</script>&\"'☃"
    for t, n in (("left", 1000), ("right", 10)):
        spark.range(n).withColumnRenamed("id", name).write.parquet(str(tmp_path / t))
    left, right = (spark.read.parquet(str(tmp_path / t)) for t in ("left", "right"))
    df = left.join(right, name)
    df.collect()
    path = springbok.report(df).save_html(tmp_path / "report.html")
    html = path.read_text(encoding="utf-8")
    assert "<script" not in html and "&lt;script&gt;" in html
    assert "http" not in html and "src=" not in html
    assert springbok.report(df)._repr_html_() in html
    with pytest.raises(springbok.SpringbokError, match="cannot be written"):
        springbok.report(df).save_html(tmp_path / "no" / "such" / "folder.html")


def test_what_has_no_report_says_why(spark: SparkSession) -> None:
    with pytest.raises(springbok.SpringbokError, match="not of a str"):
        springbok.report("SELECT 1")  # type: ignore[arg-type]
    stream = spark.readStream.format("rate").load()
    with pytest.raises(springbok.SpringbokError, match="streaming"):
        springbok.report(stream)
    assert springbok.report(spark.range(3)).note


def test_explain_shows_the_section(spark: SparkSession, tpch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spark.sql(demo.query("q3")).explain()
    text = capsys.readouterr().out
    assert "Extended Information (Springbok)" in text
    assert "RF000 <- c_custkey" in text and "RF000 -> o_custkey" in text


def test_conjuncts_that_changed_places(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql("SELECT * FROM part WHERE p_comment LIKE '%a%b%' AND p_size > 49")
    r = springbok.report(df)
    assert [c.changed for c in r.conjuncts] == [True]
    order = r.conjuncts[0].order
    assert "p_size" in order[0].condition and order[0].selectivity is not None
    assert "LIKE" in order[1].condition and order[1].selectivity is None
    assert "filter:" in str(r) and "p_comment LIKE" in str(r)


def test_the_join_order_and_why(spark: SparkSession, tpch: Path) -> None:
    spark.conf.set("spark.springbok.reorder.enabled", "true")
    try:
        r = springbok.report(spark.sql(demo.query("q8")))
    finally:
        spark.conf.unset("spark.springbok.reorder.enabled")
    (order,) = r.join_order
    assert order.relations == 8 and order.before.startswith("part, lineitem")
    assert order.reason.code in ("LOWER_COST", "SMALL_GAIN", "GUESSED_GAIN")
    assert "Join order" in str(r) and order.reason.code in str(r)
