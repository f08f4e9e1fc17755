"""Pictures of reports in the Spark UI, the History Server, a notebook and a phone, taken in a real browser.

They are written to the folder that SPRINGBOK_PICTURES names, as `make tour` does for docs/pictures.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import browser
import nbformat
import pytest
import springbok
from nbconvert import HTMLExporter
from pyspark.sql import SparkSession
from springbok.tpch import query
from ui import history
from ui.test_tab import LAST

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed"),
]
TOUR = Path(__file__).resolve().parents[2] / "docs" / "tour.ipynb"
# A phone shows so many points side by side; Chromium's own windows are wider.
PHONE = 390


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("SPRINGBOK_PICTURES", tmp_path / "pictures"))
    folder.mkdir(exist_ok=True)
    return folder


def _taken(url: str, target: Path, width: int = 1320, height: int = 900) -> None:
    browser.screenshot(url, str(target), dark=False, width=width, height=height)
    assert target.read_bytes().startswith(b"\x89PNG")


def test_the_tab_in_the_spark_ui_and_in_the_history_server(tmp_path: Path, pictures: Path) -> None:
    with history.job(tmp_path) as url:
        queries = history.until(f"{url}/springbok/", lambda text: "query/?id=" in text)
        _taken(f"{url}/springbok/", pictures / "spark-ui.png", height=420)
        _taken(f"{url}/springbok/query/?id={LAST.findall(queries)[0]}", pictures / "spark-ui-query.png")
    with history.server(tmp_path, springbok.jar_path()) as url:
        history.until(f"{url}/springbok/", lambda text: "query/?id=" in text)
        _taken(f"{url}/springbok/", pictures / "history-server.png", height=480)


def test_a_report_in_a_notebook(tmp_path: Path, pictures: Path) -> None:
    notebook = nbformat.read(TOUR, as_version=4)
    shown = [c for c in notebook.cells if any("text/html" in o.get("data", {}) for o in c.get("outputs", []))]
    assert shown
    notebook.cells = shown[:1]
    page, exporter = tmp_path / "notebook.html", cast("Any", HTMLExporter)
    page.write_text(exporter().from_notebook_node(notebook)[0], encoding="utf-8")
    _taken(page.as_uri(), pictures / "notebook.png", width=1100)


def test_a_report_on_a_phone(spark: SparkSession, tpch: Path, tmp_path: Path, pictures: Path) -> None:
    df = spark.sql(query("q3"))
    df.collect()
    springbok.report(df).save_html(tmp_path / "report.html")
    frame = f'<iframe src="report.html" width="{PHONE}" height="844" style="border: 0"></iframe>'
    (tmp_path / "phone.html").write_text(f'<body style="margin: 0 55px">{frame}</body>')
    _taken((tmp_path / "phone.html").as_uri(), pictures / "phone.png", width=PHONE + 110, height=844)
