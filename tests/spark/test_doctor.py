"""The doctor in running sessions."""

from __future__ import annotations

import os
import subprocess
import sys

import processes
import pytest
import springbok
from pyspark.sql import SparkSession
from springbok import _jvm
from springbok.jar import Spark
from springbok.session import temporarily


def test_a_session_in_which_all_is_well(spark: SparkSession) -> None:
    found = springbok.doctor(spark)
    assert {c.state for c in found} == {"ok"}, str(found)
    assert any("springbok.report(df)" in c.what for c in found) != Spark(spark.version).explains
    assert any(c.what.startswith("tasks run Springbok's classes") for c in found)
    # An empty list, and not a class that is missing.
    assert _jvm.gateway(spark, "catalyst.OtherColumnarRules").all().isEmpty() and _jvm.columnar_rules(spark) == []


def test_settings_that_work_against_springbok(spark: SparkSession) -> None:
    with temporarily(spark, {"spark.sql.adaptive.enabled": "false", "spark.sql.extendedExplainProviders": ""}):
        found = [c for c in springbok.doctor(spark) if c.state == "warning"]
    assert "no runtime filters" in found[0].what and all(c.advice for c in found)
    assert len(found) == 1 + Spark(spark.version).explains
    for key, value in (("enabled", "false"), ("shadow", "true")):
        with temporarily(spark, {f"spark.springbok.{key}": value}):
            off = springbok.doctor(spark)
        # No rule has failed, and EXPLAIN need have no section.
        [warning] = [c.what for c in off if c.state == "warning"]
        assert "failed" not in str(off) and f"spark.springbok.{key} is {value}" in warning


_WITHOUT_JAR = """
import sys, springbok
from pyspark.sql import SparkSession
conf = {"spark.driver.extraClassPath": springbok.jar_path(), "spark.sql.extensions": springbok.session.EXTENSION}
builder = SparkSession.builder.master("local-cluster[1,1,1024]").config("spark.ui.enabled", "false").config(map=conf)
print(springbok.doctor(builder.getOrCreate()))
"""


@pytest.mark.slow
def test_an_executor_without_the_jar() -> None:
    command = [sys.executable, "-c", _WITHOUT_JAR]
    done = subprocess.run(
        command, env=os.environ | processes.environment(), capture_output=True, text=True, check=False, timeout=300
    )
    [failed] = [line for line in done.stdout.splitlines() if line.startswith("failed")]
    assert "tasks cannot run Springbok's classes" in failed and "ClassNotFoundException" in failed, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "Springbok cannot work here."
