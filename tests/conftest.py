"""One session for all tests, as a user makes one, and TPC-H at a scale that takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import springbok
from pyspark.sql import SparkSession
from springbok import demo


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    builder = springbok.configure(SparkSession.builder, runtimeFilter_minBenefitMs=0)
    session = (
        builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def tpch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = demo.generate(tmp_path_factory.mktemp("tpch"), 0.01)
    demo.load(spark, folder)
    return folder
