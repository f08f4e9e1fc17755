"""How a report is shown: its lines, its text, its tables, and its page without a session."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import springbok
from springbok import _server
from springbok.comparison import Comparison, JoinChange
from springbok.model import Texts
from springbok.reports import Report, Reports

RECORD = Path(__file__).parents[1] / "golden" / "q3-executed.json"


@pytest.fixture
def report() -> Report:
    return Report.from_json(RECORD.read_text(encoding="utf-8"))


def test_a_shell_shows_one_line_of_a_report_and_of_a_comparison(report: Report) -> None:
    # They were 9,500 and 16,000 characters of dataclasses.
    assert repr(report).startswith(
        "<Report query 12, collect, 345 ms, 2 joins, 2 of 2 filters used: select l_orderkey, sum("
    )
    bare = replace(report, texts=Texts(query="", summary="", whole=""), execution=None, state="planned")
    assert repr(bare) == "<Report planned, 2 joins, 2 of 2 filters used>"
    c = Comparison(report, report, (JoinChange("a = b", "sort-merge", "broadcast hash", None),), 2.0, 1.0, True)
    assert repr(c) == (
        "<Comparison Without and with Springbok: 1 of 1 joins differ, 2 runtime filters; "
        "2.00 s without, 1.00 s with Springbok (2.00x), one run each; the answers are equal>"
    )
    assert all("\n" not in repr(x) for x in (report, c))


def test_several_reports_are_a_table(report: Report) -> None:
    head, first, second = repr(Reports([report, report])).splitlines()
    assert head.split() == ["query", "action", "ms", "joins", "filters", "used", "what"]
    assert first == second and first.split()[:7] == ["12", "collect", "345", "2", "2", "of", "2"]
    assert len(first) <= 100 and repr(Reports()) == "no reports"


def test_the_text_comes_with_the_report(report: Report) -> None:
    assert str(report) == report.text() != report.text(verbose=True)
    assert report.text(verbose=True).startswith(report.text().splitlines()[0])
    # Reports of the first builds of this format have no text.
    assert str(replace(report, texts=None)).endswith("save_html(path) makes its page.")


def test_parts_as_pandas_have_the_usual_columns(report: Report) -> None:
    # Joins had 59 columns.
    pytest.importorskip("pandas")
    for part in ("joins", "filters", "tables"):
        short, whole = report.to_pandas(part), report.to_pandas(part, all_columns=True)
        assert set(short.columns) <= set(whole.columns), part
        assert len(short) == len(whole) and len(short.columns) <= 12 < len(whole.columns)
    assert "left.observed_rows" in report.to_pandas("joins", all_columns=True).columns
    assert list(replace(report, joins=()).to_pandas("joins").columns) == list(report.to_pandas("joins").columns)


def test_a_saved_report_becomes_a_page_without_a_session(
    report: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_server, "html", lambda *_, **__: None)
    saved = Report.from_dict(json.loads(report.to_json().replace("c_custkey", "c_custkey🦌<b>")))
    page = saved.save_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "c_custkey🦌&lt;b&gt;" in page
    with pytest.raises(springbok.SpringbokError, match=r"cannot be made: .*JsonEOFException") as e:
        _server.page_without_session("{")
    assert "\n" not in str(e.value)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    # Without Java there is the text.
    text = saved.save_html(tmp_path / "other.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "🦌&lt;b&gt;" in text and "<script" not in text and "<svg" not in text


def test_a_comparison_can_what_a_report_can(report: Report, tmp_path: Path) -> None:
    off = replace(report, joins=tuple(replace(j, strategy="sort-merge", build=None) for j in report.joins))
    changes = tuple(JoinChange(str(j), "sort-merge", j.strategy, j.reason) for j in report.joins)
    c = Comparison(off, report, changes, 2.0, 1.0, True)
    again = Comparison.from_json(c.to_json())
    assert again.on == c.on and again.equal and (again.seconds_off, again.seconds_on) == (2.0, 1.0)
    assert len(again.joins) == 2 and again.to_dict() == c.to_dict()
    page = c.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "<script" not in page and "the answers are equal" in page
    assert report.text(verbose=True).splitlines()[0] in page.replace("&gt;", ">") and "<td>yes</td>" in c._repr_html_()
    assert c.text(verbose=True).startswith(c.text()) and report.text(verbose=True) in c.text(verbose=True)
    pytest.importorskip("pandas")
    frame = c.to_pandas()
    assert list(frame.columns) == ["join", "without", "with", "changed", "why"] and len(frame) == 2
    c.check(no_cartesian=True)
    with pytest.raises(springbok.CheckFailed, match="broadcasts"):
        c.check(max_broadcast=1)
    with pytest.raises(springbok.CheckFailed, match="answers without and with Springbok differ"):
        replace(c, equal=False).check()


def test_texts_are_as_wide_as_the_terminal(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    c = Comparison(report, report, tuple(JoinChange(str(j), "sort-merge", "x " * 40, j.reason) for j in report.joins))
    for columns in (60, 100, 150):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = [*c.text().splitlines()[1:], *repr(Reports([report])).splitlines()]
        assert columns - 12 < max(map(len, lines)) <= columns
