"""Runs queries: Spark with Springbok on and off, under random settings, and DuckDB."""

from __future__ import annotations

import datetime as dt
import math
import random
import threading
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import springbok
from lake import CATALOGS, EXTENSIONS, settings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from springbok.jar import installed
from springbok.session import temporarily

from qa.fuzz import lake
from qa.fuzz.data import Table, arrow_schema, write

ON = "spark.springbok.enabled"
FORCED = "spark.springbok.internal.forced"
Settings = dict[str, str]
# Tables are small: compiling takes longer than interpreting.
INTERPRETED: Settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
OFF: Settings = {ON: "false"} | INTERPRETED


def session(warehouse: Path, form: str = "") -> SparkSession:
    """A session made for many small queries, with tables of a lake format if one is named."""
    builder = SparkSession.builder
    if form:
        for key, value in settings(form, installed().line, f"{warehouse}/lake").items():
            builder = builder.config(key, value)
        builder = builder.config("spark.sql.extensions", EXTENSIONS[form])
    builder = springbok.configure(
        builder,
        runtimeFilter_minBenefitMs=0,
        runtimeFilter_minRejection=0,
        planning_budget=0,
    )
    spark = (
        builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.ansi.enabled", "true")
        .config(
            "spark.driver.extraJavaOptions",
            # Most of what is compiled serves one query: C2, which takes longest, comes late.
            "-Dspringbok.testing=true -XX:+UseSerialGC -Xss4m -XX:ReservedCodeCacheSize=240m"
            " -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
            " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000",
        )
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.sql.files.openCostInBytes", "1")
        .config("spark.sql.ui.explainMode", "simple")
        .config("spark.sql.codegen.cache.maxEntries", "1000")
        .config("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
        .config("spark.sql.crossJoin.enabled", "true")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def load(spark: SparkSession, tables: list[Table], folder: Path, r: random.Random, form: str = "") -> None:
    """Makes the tables known under their names, each stored its own way, in a database of their own.

    With a lake format, its tables take the place of catalog tables and of plain files.
    """
    spark.sql(f"CREATE DATABASE {folder.name}")
    spark.sql(f"USE {folder.name}")
    for t in tables:
        path = write(t, folder, r)
        rows = raw(spark, t, path)
        if form and t.storage not in ("cached", "view") and lake.can(form, t):
            t.storage = form
        match t.storage:
            case "delta" | "iceberg":
                lake.create(spark, t.storage, t, rows, folder.name, r)
            case "files" | "view" | "cached":
                view(spark, t, rows)
            case _:
                _create(spark, t, rows, r)
        # CHAR as Spark reads it: padded where a table of a catalog declares it.
        if t.arrow is None or any(c.family == "char" for _, c in t.columns):
            t.arrow = _arrow(spark.sql(f"SELECT {', '.join(n for n, _ in t.columns)} FROM {t.name}"))


def raw(spark: SparkSession, t: Table, path: Path) -> DataFrame:
    """The rows of the table's Parquet files."""
    # Char columns are strings in a view; a collation is a cast.
    typed = [f"CAST({n} AS {c.sql}) AS {n}" if c.family == "coll" else n for n, c in t.columns]
    # Not `parquet.`path``: it would read the schema again in every query.
    schema = from_arrow_schema(arrow_schema(t.columns), prefer_timestamp_ntz=True)
    return spark.read.schema(schema).parquet(str(path)).selectExpr(*typed)


def view(spark: SparkSession, t: Table, rows: DataFrame) -> None:
    """A view with these rows, cached or as a union if the table is stored so. It replaces the one before."""
    match t.storage:
        case "view":
            rows.where("c0 % 2 = 0").union(rows.where("c0 % 2 <> 0 OR c0 IS NULL")).createOrReplaceTempView(t.name)
        case "cached":
            spark.sql(f"UNCACHE TABLE IF EXISTS {t.name}")
            rows.createOrReplaceTempView(t.name)
            spark.sql(f"CACHE TABLE {t.name}")
        case _:
            rows.createOrReplaceTempView(t.name)


def _arrow(df: Any) -> pyarrow.Table:
    """The rows; Spark 3.5 gives them in batches alone."""
    if hasattr(df, "toArrow"):
        return df.toArrow()
    batches = df._collect_as_arrow()
    return pyarrow.Table.from_batches(batches) if batches else to_arrow_schema(df.schema).empty_table()


def _create(spark: SparkSession, t: Table, rows: DataFrame, r: random.Random) -> None:
    """A table of the catalog with these rows."""
    layout = {
        "partitioned": f"USING parquet PARTITIONED BY ({r.choice(['c0', 'c1', 'c2'])})",
        "bucketed": "USING parquet CLUSTERED BY (c0) INTO 3 BUCKETS",
        "orc": "USING orc",
        "analyzed": "USING parquet",
    }[t.storage]
    spark.sql(f"CREATE TABLE {t.name} ({t.sql_columns()}) {layout}")
    insert(spark, t, rows, "INTO")
    if t.storage in ("partitioned", "orc"):
        # As Spark reads it: ORC moves what is a fraction of a second before 1970.
        t.arrow = None
    if t.storage == "analyzed":
        spark.sql(f"ANALYZE TABLE {t.name} COMPUTE STATISTICS FOR COLUMNS c0, c1, c2")


def insert(spark: SparkSession, t: Table, rows: DataFrame, verb: str) -> None:
    """Writes rows `INTO` a table of the catalog, or `OVERWRITE`s it with them."""
    key = partition_key(spark, t)
    if key:
        # A partition a value, but not hundreds of them.
        few = f"pmod(hash({key}), 6)"
        value = f"concat('k', {few})" if key == "c2" else few
        rows = rows.withColumn(key, expr(f"CASE WHEN {key} IS NOT NULL THEN {value} END"))
    rows.createOrReplaceTempView("written")
    names = ", ".join(n for n, _ in t.columns)
    spark.sql(f"INSERT {verb} {t.name} ({names}) SELECT {names} FROM written")
    spark.catalog.refreshTable(t.name)


def partition_key(spark: SparkSession, t: Table) -> str | None:
    """The column by which a table of the catalog is partitioned."""
    return next((c.name for c in spark.catalog.listColumns(t.name) if c.isPartition), None)


def unload(spark: SparkSession, tables: list[Table], folder: Path) -> None:
    for t in tables:
        if t.storage == "cached":
            spark.sql(f"UNCACHE TABLE IF EXISTS {t.name}")
        if t.storage in CATALOGS:
            lake.drop(spark, t.storage, t, folder.name)
        if t.storage in ("files", "view", "cached"):
            spark.sql(f"DROP VIEW IF EXISTS {t.name}")
    spark.sql("USE default")
    spark.sql(f"DROP DATABASE IF EXISTS {folder.name} CASCADE")


def duck(tables: list[Table]) -> duckdb.DuckDBPyConnection:
    """DuckDB with the same tables."""
    c = duckdb.connect(config={"threads": 1})
    c.execute("SET TimeZone = 'UTC'")
    for t in tables:
        # Its own tables: what it pushes into Arrow's loses NaN.
        c.register("arrow", t.arrow)
        c.execute(f"CREATE TABLE {t.name} AS FROM arrow")
        c.unregister("arrow")
    return c


class TooLong(Exception):
    """The query was cancelled."""


class Failed(Exception):
    """The query failed."""


Answer = Counter[Any] | Failed | TooLong


def answer(spark: SparkSession, sql: str, settings: Settings) -> Answer:
    """The answer, or why there is none."""
    try:
        return rows(spark, sql, settings)
    except (Failed, TooLong) as e:
        return e


def rows(spark: SparkSession, sql: str, settings: Settings, seconds: float = 20) -> Counter[Any]:
    """The answer, in no order.

    Raises:
        TooLong: after `seconds`.
        Failed: with the whole error.
    """
    late = threading.Event()
    group = f"fuzz {threading.get_ident()}"
    spark.sparkContext.setJobGroup(group, sql, interruptOnCancel=False)

    def cancel() -> None:
        late.set()
        spark.sparkContext.cancelJobGroup(group)

    timer = threading.Timer(seconds, cancel)
    timer.start()
    try:
        with temporarily(spark, settings):
            return Counter(normal(tuple(r)) for r in spark.sql(sql).collect())
    except Exception as e:
        if late.is_set():
            raise TooLong from e
        raise Failed(str(e).strip()) from e
    finally:
        timer.cancel()


def normal(v: Any) -> Any:
    """A value such that equal answers are equal: floats rounded, -0.0 as 0.0, NaN equal to itself."""
    match v:
        case tuple() | list():
            return tuple(normal(x) for x in v)
        case dict():
            return tuple(normal(x) for x in v.values())
        case bool():
            return v
        case float():
            return "NaN" if math.isnan(v) else v if math.isinf(v) else float(f"{v:.9g}") + 0.0
        case Decimal():
            return "NaN" if v.is_nan() else v.normalize() + 0
        case bytearray():
            return bytes(v)
        case dt.datetime():
            return v.replace(tzinfo=None)
    return v


def random_settings(r: random.Random) -> Settings:
    """Settings under which no answer may change: Spark's that decide plans, and Springbok's."""
    s: Settings = {
        "spark.sql.autoBroadcastJoinThreshold": r.choice(["-1", "-1", "2000", "10485760"]),
        "spark.springbok.join.broadcastBytesLimit": r.choice(["0", "4000", "268435456"]),
        "spark.sql.codegen.wholeStage": r.choice(["true", "false", "false"]),
        "spark.springbok.runtimeFilter.inLimit": r.choice(["0", "3", "30", "1024"]),
        "spark.springbok.runtimeFilter.types": r.choice(["IN,MINMAX,BLOOM"] * 4 + ["BLOOM", "MINMAX", "IN"]),
        "spark.springbok.runtimeFilter.bloom.minBytes": r.choice(["32", "4096"]),
    }
    if s["spark.sql.codegen.wholeStage"] == "false":
        s |= INTERPRETED
    if r.random() < 0.75:
        s[FORCED] = str(r.randrange(1000))
    rare = _rare_settings(r)
    for k, v in rare.items():
        if r.random() < 0.12:
            s[k] = v
    if s.get("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"):
        s["spark.sql.adaptive.skewJoin.skewedPartitionFactor"] = "1.1"
    return s


def _rare_settings(r: random.Random) -> Settings:
    return {
        "spark.sql.adaptive.enabled": "false",
        "spark.springbok.runtimeFilter.mode": "LOCAL",
        "spark.springbok.runtimeFilter.wait": r.choice(["ALWAYS", "NEVER"]),
        "spark.springbok.reorder.enabled": "true",
        "spark.springbok.reorder.minGain": "0",
        "spark.springbok.reorder.minGainMs": "0",
        "spark.springbok.join.defaultMode": r.choice(["BROADCAST", "PARTITIONED"]),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.adaptive.localShuffleReader.enabled": "false",
        "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "100",
        "spark.sql.adaptive.forceOptimizeSkewedJoin": "true",
        "spark.sql.parquet.enableVectorizedReader": "false",
        "spark.sql.sources.bucketing.enabled": "false",
        "spark.sql.exchange.reuse": "false",
        "spark.sql.cbo.enabled": "true",
        "spark.sql.cbo.joinReorder.enabled": "true",
        "spark.sql.join.preferSortMergeJoin": "false",
        "spark.springbok.stats.footers.enabled": "false",
        "spark.springbok.runtimeFilter.maxBroadcastKeys": "10",
        "spark.springbok.runtimeFilter.maxMergeBytes": "100",
        "spark.springbok.runtimeFilter.waitTime": "200",
        "spark.sql.files.maxPartitionBytes": "2000",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "500",
    }
