"""Commands that need no session: one sentence on standard error, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fakes import FakeHome
from springbok import Comparison, jar
from springbok.__main__ import main
from springbok._jvm import first_line
from springbok.cli import doctor, explain
from springbok.reports import Report
from springbok.session import EXTENSION


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
    assert main(["explain", "--sql", str(tmp_path / sql), "--data", str(tmp_path / data)]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "inf"])
def test_the_demo_refuses_a_scale_without_rows(capsys: pytest.CaptureFixture[str], scale: str) -> None:
    assert main(["demo", "--scale", scale]) == 2
    assert capsys.readouterr().err == "springbok: --scale takes a number above 0.\n"


def test_tables_of_a_folder(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.csv", "notes.txt", "c.d.json"):
        (tmp_path / name).touch()
    (tmp_path / "e").mkdir()
    (tmp_path / "_temporary").mkdir()
    assert sorted(explain._tables(tmp_path)) == ["a", "b", "c.d", "e"]


def test_the_format_of_a_folder(tmp_path: Path) -> None:
    for name in ("_committed.json", ".hidden/a.csv", "day=1/part-0.orc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert explain._of_folder(tmp_path) == "orc"
    for folder, kind in (("metadata", "iceberg"), ("_delta_log", "delta")):
        (tmp_path / folder).mkdir()
        assert explain._of_folder(tmp_path) == kind
        (tmp_path / folder).rmdir()


def test_a_saved_report_needs_no_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, both = tmp_path / "saved.json", tmp_path / "both.json"
    on = Report.from_json((Path(__file__).parents[1] / "golden" / "q3-executed.json").read_text(encoding="utf-8"))
    saved.write_text(on.to_json())
    assert main(["explain", "--saved", str(saved)]) == 0
    assert capsys.readouterr().out == on.text() + "\n"
    assert main(["explain", "--saved", str(saved), "--why-not", "merge", "--check", "no_sort_merge"]) == 0
    assert "not a sort-merge join because" in capsys.readouterr().out
    both.write_text(Comparison(on, on, (), 1.0, 2.0, False).to_json())
    assert main(["explain", "--saved", str(both), "--html", str(tmp_path / "both.html")]) == 1
    said = capsys.readouterr()
    assert "THE ANSWERS DIFFER" in said.out and "springbok: The answers without and with" in said.err
    assert "THE ANSWERS DIFFER" in (tmp_path / "both.html").read_text(encoding="utf-8")
    for text in ("{}", "[]", "no", '{"on": 1}'):
        saved.write_text(text)
        assert main(["explain", "--saved", str(saved)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_server_does_not_see_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--sql", "-", "--data", str(tmp_path), "--master", "sc://host"]) == 2
    assert "A server does not see the files of --data" in capsys.readouterr().err


def test_conditions_of_the_command_line() -> None:
    given = ["max_broadcast=1g", "no_cartesian", "no_sort_merge=False"]
    assert explain._conditions(given) == {"max_broadcast": "1g", "no_cartesian": True, "no_sort_merge": False}


def test_an_unknown_condition_is_found_before_the_query_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.sql").write_text("SELECT 1")
    (tmp_path / "t").mkdir()
    command = ["explain", "--sql", str(tmp_path / "q.sql"), "--data", str(tmp_path), "--check", "no_joins"]
    assert main(command) == 2
    assert "no condition 'no_joins'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("An error occurred while calling o55.collect.\n: org.apache.spark.SparkException: Lost\n\tat x", "Lost"),
        ("[DIVIDE_BY_ZERO] Division by zero.\n== SQL ==", "[DIVIDE_BY_ZERO] Division by zero."),
        ("", "ValueError"),
    ],
)
def test_the_first_line_of_an_error(message: str, first: str) -> None:
    assert first_line(ValueError(message)).endswith(first)


def test_the_doctor_fails_without_java_or_jar(monkeypatch: pytest.MonkeyPatch, fake_home: FakeHome) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")
    fake_home("2.13", "4.9.0")
    said: list[str] = []
    assert doctor.run(said.append) == 1
    assert sum(line.startswith("failed") for line in said) == 2 and "cannot work here" in said[-1]


@pytest.mark.parametrize(
    ("spark", "java", "state"),
    [
        ("3.5.9", "1.8.0_412", "ok"),
        ("3.5.9", "11.0.2", "ok"),
        ("3.5.9", "21.0.1", "warning"),
        ("3.5.6-amzn-1", "17.0.1", "ok"),
        ("4.0.1", "11.0.2", "failed"),
        ("4.3.0", "21.0.1", "ok"),
        ("4.3.0", "25", "warning"),
    ],
)
def test_the_doctor_knows_the_java_of_each_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spark: str, java: str, state: str
) -> None:
    (tmp_path / "bin").mkdir()
    exe = tmp_path / "bin" / "java"
    exe.write_text(f"#!/bin/sh\necho 'openjdk version \"{java}\"' >&2\n")
    exe.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check = doctor._java(jar.Spark(spark))
    assert check.state == state and str(tmp_path) in check.what
    assert (state == "ok") == (not check.advice)


def test_the_doctor_says_which_jar_and_why(fake_home: FakeHome, fake_jars: Path) -> None:
    home = fake_home("2.12", "3.5.6-amzn-1")
    said = [str(check) for _, check in zip(range(4), doctor.checks(), strict=False)]
    assert f"Spark 3.5.6-amzn-1 (Scala 2.12) in {home}" in said[1]
    assert (
        str(fake_jars / "springbok-spark-3.5_2.12-0.1.0.jar") in said[3]
        and "this is Spark 3.5 for Scala 2.12" in said[3]
    )


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("submit", ["spark-submit \\", "  --jars a.jar,s3://b/c.jar \\"]),
        ("properties", ["spark.jars  a.jar,s3://b/c.jar", "spark.springbok.runtimeFilter.mode  LOCAL"]),
        ("emr", ['    "Classification": "spark-defaults",', '      "spark.jars": "a.jar,s3://b/c.jar",']),
        ("k8s", ["sparkConf:", '  "spark.jars": "a.jar,s3://b/c.jar"']),
        ("dbt", ["server_side_parameters:", '  "spark.springbok.runtimeFilter.mode": "LOCAL"']),
    ],
)
def test_settings_are_added_to_those_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, lines: list[str]
) -> None:
    defaults = tmp_path / "spark-defaults.conf"
    defaults.write_text("spark.jars=a.jar\nspark.sql.extensions  io.Other\nspark.app.name x\n")
    command = ["conf", "--format", form, "--defaults", str(defaults), "--jar", "s3://b/c.jar"]
    assert main([*command, "runtimeFilter.mode=LOCAL"]) == 0
    out = capsys.readouterr().out
    assert set(lines) <= set(out.splitlines())
    assert f"io.Other,{EXTENSION}" in out and "app.name" not in out


def test_a_properties_file_keeps_what_it_got(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    defaults = tmp_path / "spark-defaults.conf"
    command = ["conf", "--defaults", str(defaults), "--jar", "c.jar"]
    defaults.touch()
    assert main(command) == 0
    defaults.write_text(capsys.readouterr().out)
    assert main(command) == 0
    assert capsys.readouterr().out == defaults.read_text()


def test_settings_that_cannot_be_merged_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--defaults", str(tmp_path / "none")], ["--jar", "c.jar", "runtimeFilter.mod=LOCAL"]):
        assert main(["conf", *options]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_without_pyspark_there_is_one_sentence(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pyspark'] = None; import springbok.__main__ as m; sys.exit(m.main(sys.argv[1:]))"
    (tmp_path / "q.sql").write_text("SELECT 1")
    (tmp_path / "t").mkdir()
    for command in (["explain", "--sql", str(tmp_path / "q.sql"), "--data", str(tmp_path)], ["jar"]):
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, f"springbok: PySpark is not installed: {jar.PYSPARK}.\n")
