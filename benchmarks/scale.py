"""What does not show on two cores: the driver's work as clusters, plans and tables grow.

Measured per unit here: the union of two partial bloom filters and what one is when shipped. The driver's time for a
stage of n tasks is n times that; `runtimeFilter.maxMergeBytes` bounds it. Planning is measured on plans that never run:
chains of 2 to 40 joins, and a table of 10^2 to 10^5 files. Beside it what a shuffle's map tasks take, by their rows, to
write a file a partition (200 partitions) and to sort into one (201).
"""

from __future__ import annotations

import shutil
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import measure
from benchmarks.arms import ARMS, Arm, applied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BLOOM_BYTES = (4096, 65536, 1 << 20, 8 << 20)
TASKS = (1_000, 10_000, 100_000)
EXECUTORS = (10, 100, 1_000)
JOINS = (2, 5, 10, 20, 30, 40)
FILES = (100, 1_000, 10_000, 100_000)
TASK_ROWS = (100, 10_000, 100_000, 1_000_000, 4_000_000)
_ROUNDS = 5
_LINKS = 30_000  # of one file; file systems allow 65,000 or so

Table = list[list[Any]]


def merging(spark: SparkSession) -> Table:
    """Time to merge partial filters on the driver, and bytes sent, for each size of filter."""
    jvm: Any = spark._jvm
    bloom = jvm.org.apache.spark.sql.springbok.keys.SplitBlockBloom
    limit = int(jvm.org.apache.spark.sql.springbok.conf.SpringbokConf.FILTER_MERGE_BYTES().defaultValue().get())
    serializer = jvm.org.apache.spark.SparkEnv.get().closureSerializer().newInstance()
    tag = jvm.scala.reflect.ClassTag.Any()
    call = _union_us(bloom, 32)  # a py4j call and next to no work
    table: Table = [["bloom bytes", "union us", "serialized ms"]
                    + [f"merge {t:,} tasks ms" for t in TASKS]
                    + [f"sent to {e:,} executors MB" for e in EXECUTORS]]  # fmt: skip
    for size in BLOOM_BYTES:
        union = max(0.0, _union_us(bloom, size) - call)
        one = bloom.ofBytes(size)
        start = time.perf_counter()
        sent = int(serializer.serialize(one, tag).limit())
        shipped = (time.perf_counter() - start) * 1e3
        merges = [f"{union * t / 1e3:.0f}" if size * t <= limit else f"none: over {limit >> 20} MB" for t in TASKS]
        table.append(
            [f"{size:,}", f"{union:.1f}", f"{shipped:.2f}", *merges, *(f"{sent * e / 1e6:.1f}" for e in EXECUTORS)]
        )
    return table


def _union_us(bloom: Any, size: int) -> float:
    """Median of a union's time in microseconds, the call's own included."""
    a, b = bloom.ofBytes(size), bloom.ofBytes(size)
    for i in range(2_000):
        b.put(i * 0x5851F42D4C957F2D % (1 << 63))
    times = []
    for _ in range(300):
        start = time.perf_counter()
        a.union(b)
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times[50:])


def writing(spark: SparkSession) -> Table:
    """CPU of a query that shuffles so many rows in 8 map tasks, in both ways that Spark writes them."""
    arms = [Arm(str(n), springbok=False, settings={"spark.sql.shuffle.partitions": str(n)}) for n in (200, 201)]
    table: Table = [["rows a map task", "shuffled MB", "200 partitions CPU s", "201 partitions CPU s"]]
    for rows in TASK_ROWS:
        cpu: dict[str, list[float]] = {a.name: [] for a in arms}
        for i in range(-1, _ROUNDS):
            for arm in arms:
                with applied(spark, arm):
                    ran = measure.run(
                        spark,
                        f"SELECT sum(a), sum(b) FROM (SELECT id AS a, id * 3 AS b, hash(id) AS k "
                        f"FROM range(0, {rows * 8}, 1, 8) DISTRIBUTE BY k)",
                    )
                cpu[arm.name] += [ran.figures.cpu_s] if i >= 0 else []
        seconds = [f"{statistics.median(c):.2f}" for c in cpu.values()]
        table.append([f"{rows:,}", f"{ran.figures.shuffle_bytes / 1e6:.1f}", *seconds])
    return table


def planning_joins(spark: SparkSession, folder: Path) -> Table:
    """Planning time without and with Springbok against the number of joins: a star and a chain of tables."""
    path = str(folder / "one.parquet")
    spark.range(1000).selectExpr("id", "id % 10 AS fk", "id % 7 AS v").coalesce(1).write.mode("overwrite").parquet(path)
    for i in range(max(JOINS) + 1):
        spark.read.parquet(path).createOrReplaceTempView(f"p{i}")
    table: Table = [["joins", "shape", "S ms", "B ms", "added ms", "Springbok's rules ms"]]
    for n in JOINS:
        for shape, key in (("star", "p0.fk"), ("chain", "p{before}.fk")):
            joins = " ".join(f"JOIN p{i} ON {key.format(before=i - 1)} = p{i}.id" for i in range(1, n + 1))
            where = " AND ".join(f"p{i}.v = 3" for i in range(1, n + 1, 3))
            table.append([n, shape, *_plan_both(spark, f"SELECT count(*) FROM p0 {joins} WHERE {where}")])
    return table


def planning_files(spark: SparkSession, folder: Path) -> Table:
    """Planning time without and with Springbok against the number of files of the larger table."""
    one = folder / "file.parquet"
    spark.range(1000).selectExpr("id", "id % 7 AS v").coalesce(1).write.mode("overwrite").parquet(str(one))
    part = next(one.glob("part-*"))
    spark.read.parquet(str(one)).createOrReplaceTempView("few")
    table: Table = [["files", "S ms", "B ms", "added ms", "Springbok's rules ms"]]
    for n in FILES:
        many = folder / f"files{n}"
        many.mkdir()
        for i in range(n):
            file = many / f"part-{i:06d}.parquet"
            if i % _LINKS == 0:
                target = shutil.copy(part, file)
            else:
                file.hardlink_to(target)
        spark.read.parquet(str(many)).createOrReplaceTempView("many")  # lists the files
        sql = "SELECT count(*) FROM many JOIN few ON many.id = few.id WHERE few.v = 3"
        table.append([f"{n:,}", *_plan_both(spark, sql)])
    return table


def _plan_both(spark: SparkSession, sql: str) -> list[str]:
    times: dict[str, list[float]] = {"S": [], "B": []}
    rules: list[float] = []
    for i in range(-1, _ROUNDS):
        for name, into in times.items():
            seconds, spent = _plan(spark, ARMS[name], sql)
            if i >= 0:
                into.append(seconds)
                rules += [spent] if name == "B" else []
    s, b = (statistics.median(times[a]) * 1e3 for a in ("S", "B"))
    return [f"{s:.0f}", f"{b:.0f}", f"{b - s:.0f}", f"{statistics.median(rules):.0f}"]


def _plan(spark: SparkSession, arm: Arm, sql: str) -> tuple[float, float]:
    """Seconds to the physical plan, and milliseconds of them in Springbok's rules."""
    guarded: Any = spark._jvm.org.apache.spark.sql.springbok.catalyst.RuleGuard  # type: ignore[union-attr]
    with applied(spark, arm):
        rules = guarded.spentNanos()
        start = time.perf_counter()
        spark.sql(sql)._jdf.queryExecution().executedPlan()
        return time.perf_counter() - start, (guarded.spentNanos() - rules) / 1e6
