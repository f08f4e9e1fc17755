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


def join_state(spark: SparkSession) -> Any:
    """What planning remembers about a join."""
    return _package(spark).record.JoinState


def rule_guard(spark: SparkSession) -> Any:
    """The time that each rule took."""
    return _package(spark).catalyst.RuleGuard


def _package(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.springbok
