"""`python -m qa.soak DATA`: a thousand TPC-H queries in one application; what must not grow, and whether it did.

DATA holds TPC-H as one Parquet file a table; a small scale will do. Every hundred queries or so the heap left by
a collection, threads, accumulators, and what the block manager holds are taken. Driver and executor are one process.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import springbok
from pyspark.sql import SparkSession
from springbok import tpch

from qa.fuzz import engine


def state(spark: SparkSession) -> dict[str, int]:
    """Bytes, threads and numbers of what Spark keeps."""
    gc.collect()
    jvm: Any = spark._jvm
    factory = jvm.java.lang.management.ManagementFactory
    heap = []
    for _ in range(5):
        jvm.java.lang.System.gc()
        # What is unreachable is released by a thread of Spark's.
        time.sleep(0.5)
        heap.append(factory.getMemoryMXBean().getHeapMemoryUsage().getUsed())
    store = jvm.org.apache.spark.SparkEnv.get().blockManager().memoryStore()
    return {
        "heap_bytes": min(heap),
        "threads": factory.getThreadMXBean().getThreadCount(),
        "accumulators": jvm.org.apache.spark.util.AccumulatorContext.numAccums(),
        "block_bytes": store.memoryUsed(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="qa.soak", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    args = parser.parse_args()
    builder = springbok.configure(SparkSession.builder, runtimeFilter_minBenefitMs=0, planning_budget=0)
    builder = builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    # What a session shows of past queries is bounded by these; the bound must be reached early.
    builder = builder.config("spark.sql.ui.retainedExecutions", "20").config("spark.ui.retainedJobs", "50")
    builder = builder.config("spark.ui.retainedStages", "50").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    tpch.load(spark, args.data)
    queries = {name: tpch.query(name) for name in tpch.QUERIES}
    expected: dict[str, Counter[Any]] = {}
    ran = used = wrong = 0
    states: list[dict[str, int]] = []
    while ran < args.queries:
        for name, sql in queries.items():
            df = spark.sql(sql)
            got = Counter(engine.normal(tuple(r)) for r in df.collect())
            wrong += got != expected.setdefault(name, got)
            ran += 1
            used += sum(f.status == "used" for f in springbok.report(df).filters)
        if len(states) == 0 or ran // 100 != states[-1]["queries"] // 100:
            states.append({"queries": ran, "filters": used, **state(spark)})
            print(json.dumps(states[-1]), flush=True)
    spark.stop()
    early, last = states[len(states) // 3], states[-1]
    grown = [k for k in ("threads", "accumulators", "block_bytes") if last[k] > early[k] * 1.2 + 10]
    grown += ["heap_bytes"] if last["heap_bytes"] > early["heap_bytes"] * 1.2 else []
    print(f"{ran} queries, {used} filters, {wrong} answers differ, grown: {', '.join(grown) or 'nothing'}")
    return 1 if grown or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
