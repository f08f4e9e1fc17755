"""One session for all tests, as a user makes one, and TPC-H at a scale that takes seconds."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import jvms
import pytest
import springbok
from pyspark.sql import DataFrame, SparkSession
from springbok.jar import Spark
from springbok.reports import Report
from springbok.tpch import generate, load, query

from benchmarks.harness import data

# Python's workers run in the environment of the tests.
os.environ["PYSPARK_PYTHON"] = sys.executable
# Before modules of tests copy the environment.
jvms.set_options()

_STRATEGIES = "broadcast hash|shuffled hash|sort-merge|broadcast nested loop|cartesian"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    builder = springbok.configure(SparkSession.builder, runtimeFilter_minBenefitMs=0, planning_budget=0)
    session = (
        builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        # Room for the broadcasts of tests that ran before, so that no recorded decision depends on them.
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def tpch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = generate(tmp_path_factory.mktemp("tpch"), 0.01)
    load(spark, folder)
    return folder


@pytest.fixture(scope="session")
def tpcds(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with its tables at scale 0.01, dimensions whole; some have the names of TPC-H's."""
    folder = data.folder(spark, tmp_path_factory.mktemp("tpcds"), "tpcds", 0.01, "plain")
    session = spark.newSession()
    for path in folder.glob("*.parquet"):
        session.read.parquet(str(path)).createOrReplaceTempView(path.stem)
    return session


@pytest.fixture(scope="session")
def valid() -> Callable[[Report], None]:
    """The check that a report is as docs/report.schema.json says."""
    schema = json.loads((Path(__file__).parent.parent / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    def check(report: Report) -> None:
        validator.validate(report.to_dict())

    return check


@pytest.fixture(scope="session")
def explained() -> Callable[[DataFrame], None]:
    """The check that EXPLAIN's section contradicts neither the executed plan nor the report."""

    def check(df: DataFrame) -> None:
        if not Spark(df.sparkSession.version).explains:
            return
        gateway = df.sparkSession._jvm
        assert gateway is not None
        mode = gateway.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
        plan, _, section = (
            df._jdf.queryExecution().explainString(mode).partition("== Extended Information (Springbok) ==")
        )
        r = springbok.report(df)
        joins = re.findall(rf"^join \d+ (?!.*: not in the plan$).*?: ({_STRATEGIES})", section, re.M)
        # A subquery that is planned several times has its joins several times in the plan, and once in the section.
        assert len(joins) == sum(j.strategy is not None for j in r.joins), section
        assert Counter(joins) <= Counter(r.strategies), section
        # A filter that was used in a stage is not in the plan any more if the stage's result turned out to be empty.
        empty = "EmptyRelation" in plan
        for name in re.findall(r"^filter (RF\d+) .*: (?:placed|used)", section, re.M) if not empty else []:
            assert name in plan, section
        used = len(re.findall(r"^filter RF\d+ .*: used", section, re.M))
        assert used == sum(f.status == "used" for f in r.filters), section

    return check


@pytest.fixture(scope="session")
def executed(spark: SparkSession, tpch: Path) -> DataFrame:
    df = spark.sql(query("q3"))
    df.collect()
    return df
