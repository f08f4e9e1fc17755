"""Spark's own master and two workers on loopback, executors that come and go: one line of JSON a round.

Run by tests/cluster/test_standalone.py: `python -m cluster.standalone FOLDER MASTER` in tests.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import springbok
from cluster import data
from pyspark.sql import SparkSession

FOLDER, MASTER = Path(sys.argv[1]), sys.argv[2]
SQL = """SELECT f.k, count(*), sum(f.v) FROM fact f JOIN mid m ON f.k = m.k JOIN top t ON m.g = t.g
         WHERE t.name = 'seven' GROUP BY f.k"""


def session() -> SparkSession:
    spark = (
        springbok.configure(SparkSession.builder, runtimeFilter_minBenefitMs=0, planning_budget=0)
        .master(MASTER)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.extraJavaOptions", f"-Dspringbok.testing=true {os.environ['SPARK_SUBMIT_OPTS']}")
        .config("spark.dynamicAllocation.enabled", "true")
        .config("spark.dynamicAllocation.shuffleTracking.enabled", "true")
        .config("spark.dynamicAllocation.shuffleTracking.timeout", "1s")
        .config("spark.dynamicAllocation.executorIdleTimeout", "1s")
        .config("spark.dynamicAllocation.minExecutors", "0")
        .config("spark.dynamicAllocation.maxExecutors", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.springbok.join.broadcastBytesLimit", "256m")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    data.write(spark, FOLDER)
    spark.sql("SELECT id AS g, if(id = 7, 'seven', 'other') AS name FROM range(50)").write.parquet(str(FOLDER / "top"))
    for name in ("fact", "mid", "top"):
        spark.read.parquet(str(FOLDER / name)).createOrReplaceTempView(name)
    return spark


def executors(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc
    return int(context.sc().getExecutorMemoryStatus().size()) - 1


def plans_alone(spark: SparkSession) -> bool:
    """Whether a query is planned where nobody answers for the block managers."""
    context: Any = spark.sparkContext._jsc
    master = context.sc().env().blockManager().master()
    endpoint = master.driverEndpoint()
    set_endpoint = getattr(master, "driverEndpoint_$eq")
    set_endpoint(master.driverHeartbeatEndPoint())  # silent but for heartbeats; none stops the scheduler
    try:
        report = springbok.report(spark.sql(SQL))
        return len(report.joins) == 2 and not report.failures
    finally:
        set_endpoint(endpoint)


def main() -> None:
    spark = session()
    for strategy in ("MERGE", "BROADCAST", "SHUFFLE_HASH"):
        end = time.monotonic() + 120
        while executors(spark) > 0 and time.monotonic() < end:
            time.sleep(0.2)
        idle = executors(spark)
        alone = plans_alone(spark)  # while there is no executor whose loss would not be heard of
        df = spark.sql(SQL.replace("SELECT", f"SELECT /*+ {strategy}(m), {strategy}(t) */", 1))
        rows = sorted(tuple(r) for r in df.collect())
        report = springbok.report(df)
        outcome = {
            "strategy": strategy,
            "right": rows == data.expected(),
            "idle": idle,
            "at work": executors(spark),
            "planned for": report.resources.executors,
            "cores": report.resources.cores_per_executor,
            "filters": [f.status for f in report.filters],
            "plans alone": alone,
            "failures": [str(f) for f in report.failures],
        }
        print(json.dumps(outcome), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
