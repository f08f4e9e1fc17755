"""Faults on a cluster of two executors: for each a line of JSON, what happened and whether the answer is right.

Run by tests/cluster/test_faults.py: `python -m cluster.scenarios FOLDER JAR` in tests, with the jar of Fault.java.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import springbok
from cluster import data
from pyspark.sql import SparkSession

FOLDER, JAR = Path(sys.argv[1]), sys.argv[2]
markers = itertools.count()


def session() -> SparkSession:
    builder = SparkSession.builder.config("spark.jars", JAR)
    builder = springbok.configure(builder, runtimeFilter_minBenefitMs=0, planning_budget=0)
    spark = (
        builder.master("local-cluster[2,2,1024]")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.extraJavaOptions", f"-Dspringbok.testing=true {os.environ['SPARK_SUBMIT_OPTS']}")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.springbok.join.broadcastBytesLimit", "256m")
        .config("spark.local.dir", str(FOLDER / "local"))
        .config("spark.sql.warehouse.dir", str(FOLDER / "warehouse"))
        .config("spark.speculation", "true")
        .config("spark.speculation.quantile", "0.5")
        .config("spark.speculation.minTaskRuntime", "200ms")
        .config("spark.speculation.interval", "50ms")
        .config("spark.task.maxFailures", "6")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    data.write(spark, FOLDER)
    prepare(spark)
    return spark


def prepare(spark: SparkSession) -> None:
    for name in ("fact", "mid"):
        spark.read.parquet(str(FOLDER / name)).createOrReplaceTempView(name)
    spark.udf.registerJavaFunction("fault", "Fault", "boolean")


def action(kind: str) -> str:
    if kind == "none":
        return kind
    return f"{kind} {FOLDER}/marker{next(markers)}" + (f" {FOLDER}/local" if kind == "delete" else "")


def query(build: str, probe: str, strategy: str = "MERGE", group: int = 7) -> str:
    return f"""SELECT /*+ {strategy}(m) */ f.k, count(*), sum(f.v)
        FROM (SELECT k, v FROM fact WHERE fault(v, '{action(probe)}')) f
        JOIN (SELECT k FROM mid WHERE g = {group} AND fault(k, '{action(build)}')) m ON f.k = m.k GROUP BY f.k"""


def answer(spark: SparkSession, sql: str) -> tuple[list[tuple[Any, ...]], list[Any]]:
    df = spark.sql(sql)
    rows = sorted(tuple(r) for r in df.collect())
    return rows, [f.status for f in springbok.report(df).filters]


def fault(spark: SparkSession, build: str, probe: str, strategy: str) -> dict[str, Any]:
    before = next(markers)
    rows, filters = answer(spark, query(build, probe, strategy))
    met = sum((FOLDER / f"marker{i}").exists() for i in range(before, next(markers)))
    return {"right": rows == data.expected(), "filters": filters, "met": met}


def cancelled(spark: SparkSession) -> dict[str, Any]:
    failed: list[str] = []

    def run() -> None:
        try:
            spark.sql(query("slow", "slow")).collect()
        except Exception as e:
            failed.append(type(e).__name__)

    first = next(markers)
    thread = threading.Thread(target=run)
    thread.start()
    while not any((FOLDER / f"marker{i}").exists() for i in range(first, first + 4)) and thread.is_alive():
        time.sleep(0.02)
    spark.sparkContext.cancelAllJobs()
    thread.join()
    rows, filters = answer(spark, query("none", "none"))
    return {"right": rows == data.expected(), "filters": filters, "met": len(failed)}


def together(spark: SparkSession) -> dict[str, Any]:
    """Eight threads, in two sessions with different settings."""
    other = spark.newSession()
    prepare(other)
    other.conf.set("spark.springbok.runtimeFilter.mode", "OFF")
    wrong: list[Any] = []
    used = {id(spark): 0, id(other): 0}

    def run(s: SparkSession, group: int) -> None:
        for _ in range(3):
            rows, filters = answer(s, query("none", "none", "MERGE", group))
            if rows != data.expected(group):
                wrong.append(rows)
            used[id(s)] += filters.count("used")

    threads = [threading.Thread(target=run, args=(s, g)) for g in range(4) for s in (spark, other)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return {"right": not wrong and not used[id(other)], "filters": ["used"] * used[id(spark)], "met": len(threads)}


def late(spark: SparkSession) -> dict[str, Any]:
    """Filters that no scan waits for, which executors ask the driver for; one of them dies while it probes."""
    before = next(markers)
    right, arrived = True, []
    spark.conf.set("spark.springbok.runtimeFilter.wait", "NEVER")
    for wait in (20000, 0):
        spark.conf.set("spark.springbok.runtimeFilter.waitTime", wait)
        df = spark.sql(query("none", "halt"))
        right &= sorted(tuple(r) for r in df.collect()) == data.expected()
        if wait:
            filters = springbok.report(df).filters
            arrived = [f.status for f in filters if "late" in f.kinds and (f.rows_removed or 0) > 50000]
    spark.conf.unset("spark.springbok.runtimeFilter.wait")
    spark.conf.unset("spark.springbok.runtimeFilter.waitTime")
    met = sum((FOLDER / f"marker{i}").exists() for i in range(before, next(markers)))
    return {"right": right, "filters": arrived, "met": met}


SCENARIOS: dict[str, Callable[[SparkSession], dict[str, Any]]] = {
    "executor killed while building": lambda s: fault(s, "halt", "none", "MERGE"),
    "executor killed while probing": lambda s: fault(s, "none", "halt", "MERGE"),
    "executor killed while building a broadcast": lambda s: fault(s, "halt", "none", "BROADCAST"),
    "executors killed while building and while probing": lambda s: fault(s, "halt", "halt", "SHUFFLE_HASH"),
    "task fails while building": lambda s: fault(s, "throw", "none", "MERGE"),
    "task fails while probing": lambda s: fault(s, "none", "throw", "SHUFFLE_HASH"),
    "shuffle files deleted between building and probing": lambda s: fault(s, "none", "delete", "MERGE"),
    "speculative copy of a building task": lambda s: fault(s, "slow", "none", "MERGE"),
    "speculative copy of a probing task": lambda s: fault(s, "none", "slow", "MERGE"),
    "query cancelled": cancelled,
    "a late filter, and an executor killed while probing": late,
    "eight queries at once, two sessions": together,
}

if __name__ == "__main__":
    spark = session()
    for name, scenario in SCENARIOS.items():
        start = time.monotonic()
        try:
            result = scenario(spark)
        except Exception as e:
            result = {"right": False, "filters": [], "met": 0, "error": str(e)[:2000]}
        print(json.dumps({"name": name, "seconds": round(time.monotonic() - start, 1)} | result), flush=True)
    spark.stop()
