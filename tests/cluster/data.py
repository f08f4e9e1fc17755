"""The tables of the cluster tests, and what their query answers."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession


def write(spark: SparkSession, folder: Path) -> None:
    """60,000 facts of 1,000 keys in four files, and the 50 groups that the keys are in."""
    spark.range(0, 60000, 1, 4).selectExpr("id AS v", "id % 1000 AS k").write.parquet(str(folder / "fact"))
    spark.range(1000).selectExpr("id AS k", "id % 50 AS g").write.parquet(str(folder / "mid"))


def expected(group: int = 7) -> list[tuple[int, int, int]]:
    """Key, number of facts, sum of their values, for each key of a group."""
    return [(k, 60, 60 * k + 1000 * 60 * 59 // 2) for k in range(1000) if k % 50 == group]
