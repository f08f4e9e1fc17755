"""The tab of the Spark UI and of the History Server, and the counters, of a job without the Python package."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import springbok
from springbok.reports import Report
from ui import history

LAST = re.compile(r"query/\?id=(\d+)")
SINK = "spark.metrics.conf.*.sink.prometheusServlet"
METRICS = (
    "spark.ui.prometheus.enabled=true",
    f"{SINK}.class=org.apache.spark.metrics.sink.PrometheusServlet",
    f"{SINK}.path=/metrics/prometheus",
)
COUNTER = re.compile(r"^metrics_\w+_driver_springbok_(\w+?)_Count\{[^}]*\} (\d+)", re.MULTILINE)


def _reports(folder: Path) -> list[Report]:
    """The reports in the event log."""
    lines = [line for f in (folder / "events").rglob("*") if f.is_file() for line in f.read_text().splitlines()]
    events = [json.loads(line) for line in lines if "SpringbokReportEvent" in line]
    return [Report.from_json(e["report"]) for e in events]


def test_the_tab_and_the_counters_of_a_job_live_and_afterwards(tmp_path: Path) -> None:
    with history.job(tmp_path, *METRICS) as url:
        text = history.until(f"{url}/metrics/prometheus", lambda t: ("queries", "1") in COUNTER.findall(t))
        counters = {name: int(value) for name, value in COUNTER.findall(text)}
        assert set(counters) == history.COUNTERS
        assert counters["filtersUsed"] == 1 and counters["failures"] == 0
        queries = history.until(f"{url}/springbok/", lambda text: "query/?id=" in text)
        assert "1 of 1" in queries and "&lt;b&gt;7" in queries and "<b>7" not in queries
        page = history.get(f"{url}/springbok/query/?id={LAST.findall(queries)[0]}")
        assert "<svg" in page and "RF000" in page and "Runtime filters" in page and "&lt;b&gt;7" in page
        for wrong in ("query/?id=99", "query/?id=x", "query/", "query/?id=<script>"):
            assert "There is no report of this query." in history.get(f"{url}/springbok/{wrong}".replace("<", "%3C"))
    reports = _reports(tmp_path)
    # The last query's report is not lost, although the context stopped at once.
    assert [r.execution is not None and r.state for r in reports] == ["executed", "executed"]
    with history.server(tmp_path, springbok.jar_path()) as url:
        queries = history.until(f"{url}/springbok/", lambda text: "query/?id=" in text)
        ids = set(LAST.findall(queries))
        assert ids == {str(r.execution.id) for r in reports if r.execution}
        for i in ids:
            assert "<svg" in history.get(f"{url}/springbok/query/?id={i}")
            assert history.get(f"{url}/SQL/execution/?id={i}")
    # A History Server without the jar reads the log as well.
    with history.server(tmp_path, None) as url:
        assert all("HashAggregate" in history.get(f"{url}/SQL/execution/?id={i}") for i in ids)
        assert "Springbok" not in history.get(f"{url}/jobs/")


# Without a filter that knows the user, Spark takes the one that doAs names.
PAGES = ("springbok/?doAs={}", "springbok/query/?id=1&doAs={}", "springbok/query/?id=99&doAs={}")
STRANGER = {page: 403 for page in PAGES}
FRIEND = {page: 200 for page in PAGES}


def _seen(url: str, user: str) -> dict[str, int]:
    return {page: history.status(f"{url}/{page.format(user)}") for page in PAGES}


def test_only_those_whom_the_view_acls_name_see_the_tab(tmp_path: Path) -> None:
    acls = ("spark.acls.enable=true", "spark.ui.view.acls=alice")
    with history.job(tmp_path, *acls) as url:
        history.until(f"{url}/springbok/?doAs=alice", lambda text: "query/?id=" in text)
        assert _seen(url, "alice") == FRIEND and _seen(url, "mallory") == STRANGER
    with history.server(tmp_path, springbok.jar_path(), ui_acls_enable="true") as url:
        assert _seen(url, "alice") == FRIEND and _seen(url, "mallory") == STRANGER


@pytest.mark.slow
def test_a_damaged_report_is_one_sentence(tmp_path: Path) -> None:
    with history.job(tmp_path):
        pass
    for f in (tmp_path / "events").rglob("*"):
        if f.is_file():
            f.write_text(f.read_text().replace('"report":"{\\"version\\"', '"report":"{\\"versi'))
    with history.server(tmp_path, springbok.jar_path()) as url:
        queries = history.until(f"{url}/springbok/", lambda text: "query/?id=" in text)
        assert "cannot be read" in queries
        page = history.get(f"{url}/springbok/query/?id={LAST.findall(queries)[0]}")
        assert "The report of this query is damaged" in page


@pytest.mark.slow
def test_reports_are_not_sent_if_they_are_switched_off(tmp_path: Path) -> None:
    with history.job(tmp_path, "spark.springbok.report.events=false") as url:
        assert "No query with a join has finished yet." in history.get(f"{url}/springbok/")
    assert not _reports(tmp_path)
