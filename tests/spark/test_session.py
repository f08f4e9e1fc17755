from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import springbok
from pyspark.sql import SparkSession
from springbok import session
from springbok._jvm import gateway

JOIN = "SELECT count(*) FROM range(1000) a JOIN range(10) b ON a.id = b.id"


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


def test_configure_appends_and_is_idempotent(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    builder = SparkSession.Builder()
    builder.config("spark.jars", "/other.jar").config("spark.sql.extensions", "org.example.Other")
    for _ in range(2):
        assert springbok.configure(builder, runtimeFilter_mode="LOCAL") is builder
    options = builder._options
    assert options["spark.jars"] == f"/other.jar,{springbok.jar_path()}"
    assert options["spark.sql.extensions"] == f"org.example.Other,{session.EXTENSION}"
    assert options["spark.springbok.runtimeFilter.mode"] == "LOCAL"
    # A driver that runs the tasks does not send itself the jar.
    local = springbok.configure(SparkSession.Builder().master("local[2]"))._options
    assert local["spark.jars"] == f"local://{springbok.jar_path()}"


def test_configure_keeps_what_is_set_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spark: SparkSession
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# comment\nspark.sql.extensions  org.example.A\nspark.jars=/a.jar\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars /b.jar --conf spark.app.name=x pyspark-shell")
    options = springbok.configure(SparkSession.Builder())._options
    assert options["spark.sql.extensions"].startswith("org.example.A,")
    assert options["spark.jars"].startswith("/b.jar,")
    # spark-submit takes these spellings as well.
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars=/c.jar -c spark.sql.extensions=org.example.B pyspark-shell")
    options = springbok.configure(SparkSession.Builder())._options
    assert options["spark.sql.extensions"].startswith("org.example.B,")
    assert options["spark.jars"].startswith("/c.jar,")


def test_jars_of_the_environment_do_not_replace_springboks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Spark takes the jars of the environment instead of the builder's.
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(other, "w") as z:
        z.writestr("empty", "")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars {other} pyspark-shell")
    code = """
import springbok
from pyspark.sql import SparkSession

spark = springbok.configure(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")).getOrCreate()
print("FOUND", springbok.is_active(spark), spark.conf.get("spark.jars"))
"""
    done = python(code, tmp_path)
    found = next((line for line in done.stdout.splitlines() if line.startswith("FOUND")), done.stderr[-3000:])
    assert found.startswith("FOUND True") and "other.jar" in found, found


def test_active_and_disabled(spark: SparkSession) -> None:
    assert springbok.is_active(spark)
    with springbok.disabled(spark):
        assert springbok.is_active(spark)
        df = spark.sql(JOIN)
        df.collect()
        joins = springbok.report(df).joins
        assert joins and all(j.planned_by_spark and j.reason is None and j.strategy for j in joins)
    df = spark.sql(JOIN)
    assert all(j.reason for j in springbok.report(df).joins)


def test_blocks_of_several_threads(spark: SparkSession) -> None:
    # The first one to leave once switched Springbok on for the other, which then switched it off for good.
    first, second = springbok.disabled(spark), springbok.disabled(spark)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert spark.conf.get(session.ENABLED) == "false"
    second.__exit__(None, None, None)
    assert spark.conf.get(session.ENABLED) == "true"


def test_a_running_session_without_the_extension_is_said_so(tmp_path: Path) -> None:
    code = """
from pyspark.sql import SparkSession
import springbok
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert not springbok.is_active(spark)
for f in (lambda: springbok.configure(SparkSession.builder), lambda: springbok.report(spark.range(1))):
    try:
        f()
    except springbok.SpringbokError as e:
        print("SAID", e)
df = spark.range(1)
spark.stop()
try:
    springbok.report(df)
except springbok.SpringbokError as e:
    print("SAID", e)
# Stopped, it leaves a JVM that takes the jar.
spark = springbok.configure(SparkSession.builder).getOrCreate()
df = spark.range(100).join(spark.range(9), "id")
assert df.count() == 9 and springbok.is_active(spark)
assert len(springbok.report(df).joins) == 1
print("JOINED")
"""
    done = python(code, tmp_path)
    said = [line for line in done.stdout.splitlines() if line.startswith("SAID")]
    assert len(said) == 3 and "JOINED" in done.stdout, done.stdout + done.stderr[-2000:]
    assert all("springbok.configure" in line for line in said)


def test_configure_keeps_what_spark_submit_was_given(tmp_path: Path) -> None:
    # `configure()` once replaced the `--jars` and `spark.sql.extensions` of spark-submit.
    with zipfile.ZipFile(tmp_path / "other.jar", "w") as z:
        z.writestr("empty", "")
    job = tmp_path / "job.py"
    job.write_text(
        f"""
import springbok
from pyspark.sql import SparkSession
spark = springbok.configure(SparkSession.builder).getOrCreate()
df = spark.sql({JOIN!r})
df.collect()
print("FOUND", springbok.is_active(spark), spark.conf.get("spark.sql.extensions"), spark.conf.get("spark.jars"))
print("JOINS", len(springbok.report(df).joins))
"""
    )
    command = [sys.executable, "-c", "from pyspark.find_spark_home import _find_spark_home as h; print(h())"]
    home = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    submit = [f"{home}/bin/spark-submit", "--master", "local[1]", "--conf", "spark.ui.enabled=false"]
    given = ["--jars", str(tmp_path / "other.jar"), "--conf", "spark.sql.extensions=org.example.Other"]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_SUBMIT_ARGS"):
        environment.pop(name, None)
    done = subprocess.run(
        [*submit, *given, str(job)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    found = [line for line in done.stdout.splitlines() if line.startswith(("FOUND", "JOINS"))]
    assert len(found) == 2, done.stdout + done.stderr
    active, extensions, jars = found[0].split()[1:]
    assert active == "True"
    assert extensions == f"org.example.Other,{session.EXTENSION}"
    assert "other.jar" in jars
    assert springbok.jar_path() in jars
    assert found[1] == "JOINS 1"


def test_the_members_of_a_release_that_are_not_compared_at_start(spark: SparkSession) -> None:
    assert gateway(spark, "catalyst.MemberCheck").missing() is None
