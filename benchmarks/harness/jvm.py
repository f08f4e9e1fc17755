"""The JVM classes of Springbok that the benchmarks call; they are not a public interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def bloom(spark: SparkSession) -> Any:
    """Springbok's bloom filter."""
    return _package(spark).keys.SplitBlockBloom


def conf(spark: SparkSession) -> Any:
    """Springbok's settings."""
    return _package(spark).conf.SpringbokConf


def query_record(spark: SparkSession) -> Any:
    """What is known about the joins of a query."""
    return _package(spark).record.QueryRecord


def rule_guard(spark: SparkSession) -> Any:
    """The time that each rule took."""
    return _package(spark).catalyst.RuleGuard


def _package(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.springbok
