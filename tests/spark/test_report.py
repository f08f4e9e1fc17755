from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import springbok
from goldens import GOLDEN, golden
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from springbok.jar import Spark
from springbok.reports import Report
from springbok.session import temporarily
from springbok.tpch import query


def test_it_never_runs_the_query(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql(query("q3"))
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
    r = springbok.report(executed)
    text = r.text(verbose=True)
    assert max(len(line) for line in f"{text}\n{r}".splitlines()) <= 100
    for part in ("Tables", "Joins", "Runtime filters", "RF000", "removed", "LOWEST_COST"):
        assert part in text


@pytest.mark.parametrize("name", ["q3", "q11", "q21"])
def test_the_text_is_as_it_was(spark: SparkSession, tpch: Path, name: str) -> None:
    r = springbok.report(spark.sql(query(name)))
    golden(GOLDEN / f"{name}.txt", stable(f"{r}\n"))
    golden(GOLDEN / f"{name}-verbose.txt", stable(f"{r.text(verbose=True)}\n"))
    assert len(str(r).splitlines()) <= 40  # a screen


def stable(text: str) -> str:
    # What depends on the machine or on versions.
    for pattern, same in (
        (r"Springbok \S+ on Spark [\d.]+", "Springbok on Spark"),
        (r" by \S+ in application \S+, database", " by USER in application ID, database"),
        (r"each executor's [\d.]+ \wB heap", "each executor's heap"),
    ):
        text = re.sub(pattern, same, text)
    return text


def test_the_text_of_a_query_that_ran_is_as_it_was(executed: DataFrame) -> None:
    # A stored record: times, and what was done first, differ from run to run, and with them where lines break.
    record = GOLDEN / "q3-executed.json"
    if not record.exists():
        record.write_text(springbok.report(executed).to_json(), encoding="utf-8")
    r = Report.from_json(record.read_text(encoding="utf-8"))
    golden(GOLDEN / "q3-executed.txt", f"{r}\n")
    golden(GOLDEN / "q3-executed-verbose.txt", f"{r.text(verbose=True)}\n")


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
    with pytest.raises(springbok.SpringbokError, match=r"not of str: spark\.sql\(query\) makes one\."):
        springbok.report("SELECT 1")  # type: ignore[arg-type]
    with pytest.raises(springbok.SpringbokError, match=r"not of int\."):
        springbok.report(1)  # type: ignore[arg-type]
    with pytest.raises(springbok.SpringbokError, match="from 0 on, and not -1"):
        springbok.last_reports(spark, -1)
    with pytest.raises(PySparkException, match="gives the session's last n reports"):
        spark.sql("SELECT * FROM springbok_reports(-1)")
    stream = spark.readStream.format("rate").load()
    with pytest.raises(springbok.SpringbokError, match="streaming"):
        springbok.report(stream)
    assert springbok.report(spark.range(3)).note


def test_what_an_action_ran_is_found(spark: SparkSession, tpch: Path, valid: Callable[[Report], None]) -> None:
    df = spark.sql(query("q12"))
    with pytest.raises(springbok.SpringbokError, match="has not run"):
        springbok.report(df, observed=True)
    df.count()
    assert springbok.report(df).state == "planned"
    r = springbok.report(df, observed=True)
    valid(r)
    assert r.state == "executed" and r.execution and r.execution.action == "count"
    assert f"by count, query {r.execution.id} of the SQL tab" in str(r)
    assert springbok.last_reports(spark, 1) == [r]
    df.collect()
    own = springbok.report(df, observed=True)
    assert own.execution and own.execution.action == "collect" and own.execution.id > r.execution.id
    # Counting is a query of its own.
    assert own.query.fingerprint != r.query.fingerprint and own.query.sql == r.query.sql
    assert "select l_shipmode, sum(" in str(own)


def test_letters_of_two_units_stay_whole(spark: SparkSession) -> None:
    # A document comes from the JVM in pieces. A letter between two of them came as question marks.
    for pad in ("", "x"):
        sql = f"SELECT a.id, '{pad}{'🦌' * 4000}' AS name FROM range(9) a JOIN range(9) b ON a.id = b.id"
        assert springbok.report(spark.sql(sql)).query.sql == sql


def test_parts_as_pandas(executed: DataFrame) -> None:
    r = springbok.report(executed)
    frame = r.to_pandas(all_columns=True)
    assert len(frame) == len(r.joins) and "left.observed_rows" in frame.columns
    assert list(r.to_pandas("filters")["id"]) == [f.id for f in r.filters]
    assert r.to_pandas("predicate_sources").shape[0] == len(r.predicate_sources)
    with pytest.raises(springbok.SpringbokError, match=r"choose among .*tables, fragments, joins, filters"):
        r.to_pandas("plan")


def test_fragments_and_slots(executed: DataFrame) -> None:
    r = springbok.report(executed)
    assert [f.kind for f in r.fragments].count("result") == 1
    lineitem = next(t for t in r.tables if t.name == "lineitem")
    assert lineitem.columns == ("l_orderkey", "l_extendedprice", "l_discount", "l_shipdate")
    assert lineitem.rows_read == lineitem.rows
    assert sum(1 for f in r.fragments for n in f.nodes if n.join is not None) == len(r.joins)
    assert all(j.left.observed_rows is not None and j.left.q_error for j in r.joins)


def test_what_cannot_be_planned_is_one_sentence(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "gone")
    spark.range(10).write.parquet(path)
    df = spark.read.parquet(path).join(spark.range(5), "id")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    df = df.where("id > 1 / 0")
    with pytest.raises(springbok.SpringbokError, match="Spark cannot plan this query") as e:
        springbok.report(df)
    assert "\n" not in str(e.value) and "py4j" not in str(e.value)
    assert capfd.readouterr().err == ""  # PySpark logs such an error as well


def test_hard_names_long_queries_and_many_joins(spark: SparkSession, valid: Callable[[Report], None]) -> None:
    name = "a<b>&\"'`🦌"
    quoted = name.replace("`", "``")
    spark.range(100).createOrReplaceTempView("hard")
    spark.sql(f"SELECT id AS `{quoted}` FROM hard").createOrReplaceTempView("named")
    words = " OR ".join(f"a.`{quoted}` = {i * 1000003}" for i in range(400))
    df = spark.sql(
        f"SELECT * FROM named a JOIN named b ON a.`{quoted}` = b.`{quoted}` WHERE {words} OR a.`{quoted}` < 50"
    )
    assert len(words) > 10_000
    df.collect()
    r = springbok.report(df)
    valid(r)
    assert max(len(line) for line in f"{r}\n{r.text(verbose=True)}".splitlines()) <= 100
    html = r._repr_html_()
    assert "<b>" not in html and "&lt;b&gt;" in html
    many = spark.range(10)
    for _ in range(300):
        many = many.join(spark.range(10).hint("broadcast"), "id")
    r = springbok.report(many)
    valid(r)
    assert (
        len(r.joins) == 300 and str(r) and r.text(verbose=True) and r._repr_html_().count("<rect") == len(r.fragments)
    )


def test_explain_shows_the_section(spark: SparkSession, tpch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Spark(spark.version).explains:
        pytest.skip("EXPLAIN takes no sections before Spark 4.0")
    spark.sql(query("q3")).explain()
    text = capsys.readouterr().out
    assert "Extended Information (Springbok)" in text
    assert "RF000 <- c_custkey" in text and "RF000 -> o_custkey" in text
    spark.sql(query("q3")).explain("formatted")
    text = capsys.readouterr().out
    assert re.search(r"RuntimeFilter.*\nRF000 -> o_custkey", text)


def test_what_to_change_has_the_statement_that_collects_what_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    # The lines of compressed files are not counted.
    spark.sql("CREATE TABLE uncounted USING csv OPTIONS (compression 'gzip') AS SELECT id AS k FROM range(100)")
    loose = str(tmp_path / "loose")
    spark.range(5).write.csv(loose, compression="gzip")
    spark.read.schema("k BIGINT").csv(loose).createOrReplaceTempView("loose")
    try:
        sql = "SELECT * FROM uncounted JOIN loose USING (k)"
        r = springbok.report(spark.sql(sql))
        statement = "ANALYZE TABLE default.uncounted COMPUTE STATISTICS FOR COLUMNS k"
        assert f"Collect statistics: {statement}\n" in str(r)
        assert "Store loose as Parquet or ORC" in str(r)
        assert "Table uncounted: unknown rows.\nTable loose: unknown rows.\n" in r.text(verbose=True)
        assert statement in r.text(verbose=True) and statement in r._repr_html_()
        spark.sql(statement)
        assert "ANALYZE" not in str(springbok.report(spark.sql(sql)))
    finally:
        spark.sql("DROP TABLE uncounted")


def test_conjuncts_that_changed_places(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql("SELECT * FROM part WHERE p_comment LIKE '%a%b%' AND p_size > 49")
    r = springbok.report(df)
    assert [c.changed for c in r.conjuncts] == [True]
    order = r.conjuncts[0].order
    assert "p_size" in order[0].condition and order[0].selectivity is not None
    # The column's values are in a dictionary, on which the pattern was tried.
    assert "LIKE" in order[1].condition and 0.01 < (order[1].selectivity or 0) < 0.1
    assert "filter:" in r.text(verbose=True) and "p_comment LIKE" in r.text(verbose=True)


def test_the_join_order_and_why(spark: SparkSession, tpch: Path) -> None:
    with temporarily(spark, {"spark.springbok.reorder.enabled": "true"}):
        r = springbok.report(spark.sql(query("q8")))
    (order,) = r.join_order
    assert order.relations == 8 and order.before.startswith("part, lineitem")
    codes = ("LOWER_COST", "SMALL_GAIN", "SMALL_GAIN", "SMALL_GAIN", "SMALL_GAIN", "UNCERTAIN_GAIN", "UNCERTAIN_GAIN")
    assert order.reason.code in codes
    text = r.text(verbose=True)
    assert "Join order" in text and order.reason.code in text
