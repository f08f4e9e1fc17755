"""Three production jobs, each in a JVM of its own, without and with Springbok by turns.

Such a JVM interprets most of the code that plans its queries, so planning costs several times as much as in a server.
CPU seconds are those of the JVM: other load of the machine changes them less than wall seconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from typing import Any

from springbok.errors import SpringbokError
from springbok.session import configure

from benchmarks.harness import jvm
from benchmarks.harness.fresh import fresh
from benchmarks.harness.results import Table, ratios
from benchmarks.studies.young_jobs import JOBS, SOURCES, Queries

_ARMS = {"Spark": False, "Springbok": True}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which jobs, and how often."""
    parser.add_argument("--jobs", default=",".join(JOBS), help="some of the jobs")
    parser.add_argument("--runs", type=int, default=5, help="JVMs of each arm")


def run(args: argparse.Namespace) -> Table:
    """One row for each job and arm. Spark's arm has no extension at all.

    Raises:
        SpringbokError: the answers of the arms differ.
    """
    head = ["job", "queries", "arm", "seconds", "CPU s", "Spark's CPU / CPU", "spread", "session s", "session CPU s"]
    rows: list[list[Any]] = [head]
    details: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        fresh(_make, folder, args.master, args.memory)
        for job in args.jobs.split(","):
            runs: dict[str, list[dict[str, Any]]] = {arm: [] for arm in _ARMS}
            for i in range(args.runs):
                for arm in _ARMS if i % 2 else reversed(_ARMS):
                    runs[arm].append(fresh(once, job, _ARMS[arm], folder, args.master, args.memory))
            if len({str(r.pop("answer")) for every in runs.values() for r in every}) > 1:
                raise SpringbokError(f"The answers of {job} differ.")
            details[job] = runs
            rows += [_row(job, arm, runs) for arm in _ARMS]
    return Table("young-jvm", "Jobs in a JVM of their own", rows, {"runs": details})


def _row(job: str, arm: str, runs: dict[str, list[dict[str, Any]]]) -> list[Any]:
    wall, cpu, session, session_cpu = (
        statistics.median(r[key] for r in runs[arm]) for key in ("wall_s", "cpu_s", "session_s", "session_cpu_s")
    )
    compared = ratios(*([r["cpu_s"] for r in runs[a]] for a in ("Spark", arm)))
    figures = [f"{wall:.1f}", f"{cpu:.1f}", *compared, f"{session:.2f}", f"{session_cpu:.2f}"]
    return [job, runs[arm][0]["queries"], arm, *figures]


def _session(folder: str, master: str, memory: str, on: bool) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).config("spark.driver.memory", memory)
    builder = builder.config("spark.log.level", "ERROR").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.warehouse.dir", tempfile.mkdtemp(dir=folder))
    return (configure(builder) if on else builder).getOrCreate()


def _make(folder: str, master: str, memory: str) -> None:
    spark = _session(folder, master, memory, on=False)
    for name, (rows, *columns) in SOURCES.items():
        spark.range(rows).selectExpr(*columns).coalesce(1).write.parquet(f"{folder}/{name}")
    spark.stop()


def once(job: str, on: bool, folder: str, master: str, memory: str) -> dict[str, Any]:
    """A job in this process: its answer, its seconds, and those until its session was there."""
    start = time.perf_counter()
    spark = _session(folder, master, memory, on)
    made, made_cpu = time.perf_counter() - start, jvm.cpu_s(spark)
    for name in SOURCES:
        spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
    queries = Queries(spark)
    answer = JOBS[job](queries)
    wall, cpu = time.perf_counter() - start, jvm.cpu_s(spark)
    spark.stop()
    times = {"wall_s": wall, "cpu_s": cpu, "session_s": made, "session_cpu_s": made_cpu}
    return {"answer": answer, "queries": queries.ran} | {key: round(value, 2) for key, value in times.items()}
