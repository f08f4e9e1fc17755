"""A job that `spark-submit` runs without the Python package, and a History Server that reads its event log."""

from __future__ import annotations

import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import springbok
from processes import HOME, environment, free_port

# The counters of the driver, which the dashboard and the alert rules in examples/monitoring use.
COUNTERS = {
    "queries",
    "leftToSpark",
    "joinsChanged",
    "filtersUsed",
    "rowsRemoved",
    "savedCoreMs",
    "waitedMs",
    "ruleTimeMs",
    "failures",
}

JOB = """
import os, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
for key, value in (("runtimeFilter.minBenefitMs", 0), ("planning.budget", 0)):
    spark.conf.set(f"spark.springbok.{key}", str(value))
spark.range(100000).selectExpr("id", "id % 1000 AS k").write.parquet("facts")
spark.range(1000).selectExpr("id AS k", "concat('<b>', id) AS name").write.parquet("dims")
for t in ("facts", "dims"):
    spark.read.parquet(t).createOrReplaceTempView(t)
spark.sql("SELECT count(*) FROM facts JOIN dims USING (k) WHERE name = '<b>7'").collect()
print("URL", spark.sparkContext.uiWebUrl, flush=True)
while not os.path.exists("go"):
    time.sleep(0.1)
# The context stops as soon as the last query has ended.
spark.sql("SELECT max(id) FROM facts JOIN dims USING (k) WHERE name = '<b>8'").collect()
spark.stop()
"""


@contextmanager
def job(folder: Path, *conf: str) -> Iterator[str]:
    """The job, at rest after its first query; the address of its UI. It has ended afterwards."""
    (folder / "job.py").write_text(JOB)
    (folder / "events").mkdir(exist_ok=True)
    settings = [
        f"spark.sql.extensions={springbok.session.EXTENSION}",
        "spark.eventLog.enabled=true",
        "spark.eventLog.compress=false",
        f"spark.eventLog.dir={(folder / 'events').as_uri()}",
        f"spark.ui.port={free_port()}",
        *conf,
    ]
    options = [o for s in settings for o in ("--conf", s)]
    command = [str(HOME / "bin" / "spark-submit"), "--master", "local[2]", "--jars", springbok.jar_path(), *options]
    with (folder / "job.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "job.py"], cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert process.stdout
        try:
            yield next(line.split()[1] for line in process.stdout if line.startswith("URL"))
            (folder / "go").touch()
            process.communicate(timeout=120)
            assert process.returncode == 0
        finally:
            process.kill()


@contextmanager
def server(folder: Path, jar: str | None, **more: str) -> Iterator[str]:
    """A History Server of these event logs, with this jar on its class path; the address of the application.

    Its settings `more` are named without `spark.history.`, with underscores for dots.
    """
    port = free_port()
    options = {
        "spark.history.fs.logDirectory": (folder / "events").as_uri(),
        "spark.history.ui.port": str(port),
        "spark.history.fs.update.interval": "1s",
    } | {f"spark.history.{k.replace('_', '.')}": v for k, v in more.items()}
    env = environment() | {"SPARK_HISTORY_OPTS": " ".join(f"-D{k}={v}" for k, v in options.items())}
    env |= {"SPARK_DAEMON_CLASSPATH": jar} if jar else {}
    command = [str(HOME / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
        try:
            base = f"http://127.0.0.1:{port}"
            applications = until(f"{base}/api/v1/applications", lambda text: '"completed" : true' in text)
            found = re.search(r'"id" : "([^"]+)"', applications)
            assert found
            yield f"{base}/history/{found[1]}"
        finally:
            process.kill()
            process.wait()


def get(url: str) -> str:
    """A page's text."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def status(url: str) -> int:
    """The status of a page."""
    try:
        get(url)
    except urllib.error.HTTPError as e:
        return e.code
    return 200


def until(url: str, condition: Callable[[str], bool]) -> str:
    """The text of a page as soon as it is as it should be."""
    deadline = time.monotonic() + 60
    while True:
        try:
            text = get(url)
            if condition(text):
                return text
        except (urllib.error.URLError, ConnectionError) as e:
            text = str(e)
        assert time.monotonic() < deadline, text[-3000:]
        time.sleep(0.3)
