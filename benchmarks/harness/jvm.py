"""The JVM classes of Springbok that the benchmarks call; they are not a public interface."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def bloom(spark: SparkSession) -> Any:
    """Springbok's bloom filter."""
    return _package(spark).keys.SplitBlockBloom


def filter_conf(spark: SparkSession) -> Any:
    """The settings of runtime filters."""
    return _package(spark).conf.FilterConf


def key_summary(spark: SparkSession) -> Any:
    """What build tasks send of their keys."""
    return _package(spark).keys.KeySummary


def join_state(spark: SparkSession) -> Any:
    """What planning remembers about a join."""
    return _package(spark).record.JoinState


def gateway(spark: SparkSession) -> Any:
    """What the Python package calls too."""
    return _package(spark).PythonGateway


def files_listed(spark: SparkSession) -> int:
    """How many files Spark has listed since the JVM started."""
    jvm: Any = spark._jvm
    return int(jvm.org.apache.spark.metrics.source.HiveCatalogMetrics.METRIC_FILES_DISCOVERED().getCount())


def cpu_s(spark: SparkSession) -> float:
    """User and system time in seconds of the JVM, of which this process is the parent."""
    gateway: Any = spark._sc._gateway
    fields = Path(f"/proc/{gateway.proc.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _package(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.springbok
