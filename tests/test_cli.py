"""The commands as scripts use them: exit codes, one sentence on standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import springbok
from pyspark.sql import SparkSession
from springbok.cli import doctor, explain, main
from springbok.tpch import query


def command(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "springbok", *args]
    return subprocess.run(line, input=text, capture_output=True, text=True, check=False, timeout=300)


def test_explain(tpch: Path, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(query("q3") + ";\n")
    html = tmp_path / "out.html"
    options = ("--sql", str(tmp_path / "q.sql"), "--data", str(tpch), "--master", "local[2]", "--memory", "1g")
    done = command("explain", *options, "--run", "--json", "--html", str(html))
    assert done.returncode == 0, done.stderr[-2000:]
    document = json.loads(done.stdout)
    assert document["state"] == "executed" and len(document["joins"]) == 2
    assert "<svg" in html.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("sql", "data", "said"),
    [
        ("no.sql", ".", "cannot be read"),
        ("empty.sql", ".", "no query"),
        ("q.sql", "none", "is no folder"),
        ("q.sql", "empty", "holds no table"),
    ],
)
def test_what_explain_cannot_read_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sql: str, data: str, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.sql").write_text(" ;\n")
    (tmp_path / "q.sql").write_text("SELECT 1")
    assert main.main(["explain", "--sql", str(tmp_path / sql), "--data", str(tmp_path / data)]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_tables_of_a_folder(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.csv", "notes.txt", "c.d.json"):
        (tmp_path / name).touch()
    (tmp_path / "e").mkdir()
    (tmp_path / "_temporary").mkdir()
    assert sorted(explain._tables(tmp_path)) == ["a", "b", "c.d", "e"]


def test_the_doctor_finds_what_stands_against_springbok(spark: SparkSession) -> None:
    fine = list(doctor.of_session(spark))
    assert [c.state for c in fine] == ["ok", "ok"]
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        found = [c for c in doctor.of_session(spark) if c.state == "warning"]
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert len(found) == 1 and "ranges of broadcasts" in found[0].what and found[0].advice


def test_the_doctor_fails_without_java_or_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")

    def no_jar() -> str:
        raise springbok.SpringbokError("carries no jar")

    monkeypatch.setattr(doctor, "jar_path", no_jar)
    said: list[str] = []
    assert doctor.run(said.append) == 1
    assert sum(line.startswith("failed") for line in said) == 2 and "cannot work here" in said[-1]
