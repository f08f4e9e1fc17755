"""A Spark Connect server with the extension and one without, each with a client in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import processes
import pytest
import springbok
from processes import HOME, free_port

CLIENT = """
import json, sys
import springbok
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
out = {"active": springbok.is_active(spark)}
if not out["active"]:
    out["doctor"] = str(springbok.doctor(spark))
explain = "EXPLAIN SELECT * FROM range(9) JOIN range(5) USING (id)"
out["section"] = "== Extended Information (Springbok) ==" in spark.sql(explain).head()[0]
spark.range(100000).selectExpr("id", "id % 1000 AS k").write.mode("overwrite").parquet("facts")
spark.range(1000).selectExpr("id AS k", "concat('n', id) AS name").write.mode("overwrite").parquet("dims")
for t in ("facts", "dims"):
    spark.read.parquet(t).createOrReplaceTempView(t)
df = spark.sql("SELECT count(*) AS n FROM facts JOIN dims USING (k) WHERE name = 'n7'")
try:
    planned = springbok.report(df)
    out["planned"] = [planned.state, len(planned.joins)]
    try:
        springbok.report(df, observed=True)
    except springbok.SpringbokError as e:
        out["not run"] = str(e)
    out["rows"] = df.collect()[0][0]
    ran = springbok.report(df, observed=True)
    out["ran"] = [ran.state, len(ran.filters), "<svg" in ran._repr_html_()]
    out["page"] = ran.save_html("report.html").read_text()[:15]
    out["last"] = [r.execution.id for r in springbok.last_reports(spark, 5)] == [ran.execution.id]
    c = springbok.compare(df, run=True)
    out["compare"] = [c.equal, len(c.joins), c.on.state]
    out["why"] = springbok.why_not(df, "merge")
    out["cores"] = springbok.report(df, executors=50, cores=8).resources.executors
    out["doctor"] = [c.what for c in springbok.doctor(spark) if c.state != "ok"]
    table = spark.sql("SELECT joins, query FROM springbok_reports() ORDER BY execution_id LIMIT 1").collect()[0]
    out["table"] = [table.joins, "facts JOIN dims" in table.query]
except springbok.SpringbokError as e:
    out["error"] = str(e)
print("RESULT", json.dumps(out))
"""


def _connect_jar() -> str | None:
    """Spark's Connect server among PySpark's jars; from 4.0 on it is there."""
    return next((str(j) for j in (HOME / "jars").glob("spark-connect_*.jar")), None)


pytestmark = pytest.mark.skipif(_connect_jar() is None, reason="this PySpark has no Connect server")


@contextmanager
def server(folder: Path, *conf: str) -> Iterator[str]:
    """A Connect server in this folder; its address."""
    port = free_port()
    settings = [f"spark.connect.grpc.binding.port={port}", "spark.ui.enabled=false", *conf]
    with processes.server(folder, "org.apache.spark.sql.connect.service.SparkConnectServer", port, settings, 90):
        yield f"sc://127.0.0.1:{port}"


def client(folder: Path, address: str) -> dict[str, object]:
    """What a client of this server prints."""
    env = {k: v for k, v in os.environ.items() if k != "SPARK_HOME"}
    command = [sys.executable, "-c", CLIENT, address]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert lines, (done.stdout[-500:], done.stderr[-3000:])
    result: dict[str, object] = json.loads(lines[0].removeprefix("RESULT "))
    return result


@pytest.fixture(autouse=True)
def grpc() -> None:
    pytest.importorskip("grpc", reason="PySpark's Connect client is not installed")


def test_reports_of_a_connect_session(tmp_path: Path) -> None:
    conf = (
        f"spark.jars={springbok.jar_path()}",
        f"spark.sql.extensions={springbok.session.EXTENSION}",
        "spark.springbok.runtimeFilter.minBenefitMs=0",
        "spark.springbok.planning.budget=0",
    )
    with server(tmp_path, *conf) as address:
        out = client(tmp_path, address)
        sql = "SELECT count(*) FROM range(1000) a JOIN range(10) b USING (id)"
        explain = [sys.executable, "-m", "springbok", "explain", "--sql", "-", "--master", address, "--run", "--json"]
        done = subprocess.run(explain, input=sql, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0 and json.loads(done.stdout)["state"] == "executed", done.stderr
    assert "error" not in out, out["error"]
    assert out["section"] is springbok.jar.installed().explains
    assert out["active"] is True and out["planned"] == ["planned", 1] and out["rows"] == 100
    assert "has not run in this session" in str(out["not run"])
    assert out["ran"] == ["executed", 1, True] and out["page"] == "<!doctype html>" and out["last"] is True
    assert out["compare"] == [True, 1, "executed"] and out["cores"] == 50 and out["table"] == [1, True]
    assert out["doctor"] == []
    assert "is a broadcast hash join and not a sort-merge join because" in str(out["why"])


@pytest.mark.slow
def test_a_server_without_springbok_is_said_so_and_no_query_runs(tmp_path: Path) -> None:
    with server(tmp_path) as address:
        out = client(tmp_path, address)
    assert out["active"] is False and "planned" not in out
    assert "start it with Springbok's jar" in str(out["doctor"]) and "cannot work here" in str(out["doctor"])
    assert str(out["error"]).startswith("The server of this Spark Connect session runs without Springbok: start it")
