"""The driver's time to merge the partial bloom filters of a stage's tasks, and the bytes that broadcasting them sends.

The union of two filters and the size of a filter when sent are measured. The driver's time for a stage of n tasks is n
times the union. `spark.springbok.runtimeFilter.maxMergeBytes` bounds what the tasks may send in all.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING, Any

from benchmarks.harness import jvm, runner
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BYTES = (4096, 65536, 1 << 20, 8 << 20)
_TASKS = (1_000, 10_000, 100_000)
_EXECUTORS = (10, 100, 1_000)


def arguments(parser: argparse.ArgumentParser) -> None:
    """How large the filters are."""
    parser.add_argument("--max", type=int, default=max(_BYTES), help="the bytes of the largest filter")


def run(args: argparse.Namespace) -> Table:
    """One row a size of filter."""
    spark = runner.session(args.master, args.memory)
    rows = measure(spark, [size for size in _BYTES if size <= args.max])
    spark.stop()
    return Table("filter-merging", "Merging and sending filters", rows)


def measure(spark: SparkSession, sizes: list[int]) -> list[list[Any]]:
    """The table's rows; one row a size."""
    bloom = jvm.bloom(spark)
    limit = int(jvm.filter_conf(spark).MERGE_BYTES().defaultValue().get())
    gateway: Any = spark._jvm
    # Not by SparkEnv: in PySpark 4.3 some classes that its members name are missing, so py4j cannot look into it.
    conf = gateway.org.apache.spark.SparkConf()
    serializer = gateway.org.apache.spark.serializer.JavaSerializer(conf).newInstance()
    tag = gateway.scala.reflect.ClassTag.Any()
    call = _union_us(bloom, 32)  # a py4j call with next to no work
    merge = [f"merge {t:,} tasks ms" for t in _TASKS]
    send = [f"sent to {e:,} executors MB" for e in _EXECUTORS]
    rows: list[list[Any]] = [["bloom bytes", "union us", "serialized ms", *merge, *send]]
    for size in sizes:
        union = max(0.0, _union_us(bloom, size) - call)
        one = bloom.ofBytes(size)
        start = time.perf_counter()
        sent = int(serializer.serialize(one, tag).limit())
        serialized = (time.perf_counter() - start) * 1e3
        merges = [f"{union * t / 1e3:.0f}" if size * t <= limit else f"none: over {limit >> 20} MB" for t in _TASKS]
        sends = [f"{sent * e / 1e6:.1f}" for e in _EXECUTORS]
        rows.append([f"{size:,}", f"{union:.1f}", f"{serialized:.2f}", *merges, *sends])
    return rows


def _union_us(bloom: Any, size: int) -> float:
    """The median time of a union in microseconds, the py4j call included."""
    a, b = bloom.ofBytes(size), bloom.ofBytes(size)
    for i in range(2_000):
        b.put(i * 0x5851F42D4C957F2D % (1 << 63))
    times = []
    for _ in range(300):
        start = time.perf_counter()
        a.union(b)
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times[50:])
