"""The tables of the `join-choice` study."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.studies.join_cases import Case

# n: two columns, the keys in random order and each once; tables of different sizes share the smaller one's keys.
_NARROW = (1_000, 10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)
# w: ten columns of text.
_WIDE = (1_000, 10_000, 100_000, 300_000)
# b: as n, in 16 buckets by key.
_BUCKETED = (100_000, 1_000_000, 3_000_000)


def make(spark: SparkSession, folder: Path, tpch: Path, cases: list[Case]) -> None:
    """Make the tables of the cases, and create them in a database without and in one with statistics."""
    used = set(re.findall(r"\w+", " ".join(c.sql() for c in cases)))
    paths = _made(spark, folder, used) + [p for p in tpch.glob("*.parquet") if p.stem in used]
    for database in ("plain", "cbo"):
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        spark.sql(f"USE {database}")
        for path in paths:
            buckets = "CLUSTERED BY (k) INTO 16 BUCKETS" if re.fullmatch(r"b\d+", path.name) else ""
            columns = "(k BIGINT, v BIGINT)" if buckets else ""
            spark.sql(f"CREATE TABLE {path.stem} {columns} USING parquet {buckets} LOCATION '{path}'")
            if database == "cbo":
                spark.sql(f"ANALYZE TABLE {path.stem} COMPUTE STATISTICS FOR ALL COLUMNS")


def _made(spark: SparkSession, folder: Path, used: set[str]) -> list[Path]:
    selects = {f"n{n}": _narrow(n) for n in _NARROW} | {f"w{n}": _wide(n) for n in _WIDE}
    selects["skewed"] = "SELECT if(id % 2 = 0, 7, pmod(id * 7919, 3000000)) AS k, id AS v FROM range(3000000)"
    for name, select in selects.items():
        if name in used:
            _write(folder / name, spark.sql(select))
    for n in _BUCKETED:
        if f"b{n}" in used and not (folder / f"b{n}" / "_SUCCESS").exists():
            rows = spark.sql(_narrow(n)).repartition(16, "k")
            rows.write.bucketBy(16, "k").option("path", str(folder / f"b{n}")).saveAsTable(f"b{n}")
            spark.sql(f"DROP TABLE b{n}")
    return [folder / name for name in (*selects, *(f"b{n}" for n in _BUCKETED)) if name in used]


def _narrow(n: int) -> str:
    return f"SELECT pmod(id * 7919, {n}) AS k, id % 1000003 AS v FROM range({n})"


def _wide(n: int) -> str:
    text = ", ".join(f"concat('text {i} of row ', id, ' ', repeat('x', 20)) AS s{i}" for i in range(10))
    return f"SELECT pmod(id * 7919, {n}) AS k, id AS v, {text} FROM range({n})"


def _write(path: Path, df: DataFrame) -> None:
    if not (path / "_SUCCESS").exists():
        df.coalesce(4).write.mode("overwrite").parquet(str(path))
