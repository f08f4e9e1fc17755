"""The commands as scripts use them: exit codes, one sentence on standard error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from springbok.tpch import query


def command(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "springbok", *args]
    # Tables this small are left to Spark otherwise.
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": "--conf spark.springbok.planning.budget=0 pyspark-shell"}
    return subprocess.run(line, input=text, capture_output=True, text=True, check=False, timeout=300, env=environment)


def test_explain(tpch: Path, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(query("q3") + ";\n")
    html = tmp_path / "out.html"
    options = ("--sql", str(tmp_path / "q.sql"), "--data", str(tpch), "--master", "local[2]", "--memory", "1g")
    done = command("explain", *options, "--run", "--json", "--html", str(html))
    assert done.returncode == 0, done.stderr[-2000:]
    document = json.loads(done.stdout)
    assert document["state"] == "executed" and len(document["joins"]) == 2
    assert "<svg" in html.read_text(encoding="utf-8")
    checks = ("--check", "no_cartesian", "--check", "max_broadcast=1")
    failed = command("explain", *options, "--why-not", "merge", "--table", "lineitem", *checks)
    assert "not a sort-merge join because" in failed.stdout, failed.stderr[-2000:]
    assert failed.returncode == 1 and "broadcasts" in failed.stderr and "Traceback" not in failed.stderr
    document["joins"][0]["strategy"] = "cartesian"
    (tmp_path / "saved.json").write_text(json.dumps(document), encoding="utf-8")
    saved = command("explain", "--saved", str(tmp_path / "saved.json"), "--check", "no_cartesian")
    assert saved.returncode == 1 and "cartesian product" in saved.stderr


def test_explain_compares_and_reads_a_catalog(tmp_path: Path) -> None:
    # Tables of the session's catalog, which a setting names, instead of files.
    conf = ("--conf", f"spark.sql.warehouse.dir={tmp_path}", "--conf", "spark.sql.defaultCatalog=spark_catalog")
    sql = "SELECT count(*) FROM range(1000) a JOIN range(10) b USING (id)"
    options = ("--sql", "-", "--master", "local[2]", "--memory", "1g", *conf)
    done = command("explain", *options, "--compare", "--run", text=sql)
    assert done.returncode == 0 and "the answers are equal" in done.stdout, done.stderr[-2000:]
    (tmp_path / "data" / "t" / "_delta_log").mkdir(parents=True)
    delta = command("explain", *options, "--data", str(tmp_path / "data"), text=sql)
    assert delta.returncode == 2 and "delta needs --conf spark.jars.packages" in delta.stderr, delta.stderr
    assert delta.stderr.count("\n") == 1


def test_explain_says_in_one_sentence_what_spark_refuses(tpch: Path) -> None:
    # PySpark once logged 5 KB of JSON with a stack trace before it.
    for text, said in (
        ("SELECT * FROM no_such_table", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT 1 / (r_regionkey - r_regionkey) FROM region", "DIVIDE_BY_ZERO"),
    ):
        options = ("--sql", "-", "--data", str(tpch), "--run", "--master", "local[2]", "--memory", "1g")
        done = command("explain", *options, text=text)
        assert done.returncode == 2 and said in done.stderr, done.stderr
        assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
def test_the_demo_says_what_it_does_and_nothing_else(tmp_path: Path) -> None:
    options = (
        "--scale",
        "0.01",
        "--queries",
        "q3,q6",
        "--data",
        str(tmp_path),
        "--master",
        "local[2]",
        "--memory",
        "1g",
    )
    done = command("demo", *options, "--json", str(tmp_path / "figures.json"))
    assert done.returncode == 0 and done.stderr == "", done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.endswith("equal")] == ["q3", "q6", "all"]
    assert len(lines) <= 40 and all(len(line) <= 120 for line in lines if str(tmp_path) not in line)
    assert lines[-4] == "What next" and (tmp_path / "report.html").exists()
    assert {r["query"] for r in json.loads((tmp_path / "figures.json").read_text())["rows"]} == {"q3", "q6"}
