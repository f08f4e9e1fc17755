"""The fuzzer's tables in Delta or Iceberg: several commits, deleted rows, renamed columns, partitions, clustering."""

from __future__ import annotations

import random

from lake import CATALOGS
from pyspark.sql import DataFrame, SparkSession

from qa.fuzz.data import Table

# Types of columns that a format cannot store.
UNKNOWN = {"delta": ("coll",), "iceberg": ("coll", "char")}


def can(form: str, table: Table) -> bool:
    """Whether the format can store all columns of the table."""
    return not any(c.family in UNKNOWN[form] for _, c in table.columns)


def create(spark: SparkSession, form: str, table: Table, raw: DataFrame, database: str, r: random.Random) -> None:
    """A view with the table's name on a table of the format with these rows, less those that are deleted again.

    Then the rows are not those of `table.arrow`, which becomes None.
    """
    name = stored(form, table, database)
    if form == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOGS[form]}.{database}")
    columns = [n for n, _ in table.columns]
    # Each column once had the name of its neighbour.
    renamed = r.random() < 0.5
    first = columns[1:] + columns[:1] if renamed else columns
    typed = ", ".join(f"{n} {c.sql}" for n, (_, c) in zip(first, table.columns, strict=True))
    spark.sql(
        f"CREATE TABLE {name} ({typed}) USING {form} {_layout(form, first, r)} TBLPROPERTIES ({_properties(form, r)})"
    )
    batches = r.choice([1, 2, 4])
    for n in range(batches):
        part = (
            raw.where(f"pmod(hash(c0), {batches}) = {n}").orderBy(r.choice(["c0", "c1"])).repartition(r.choice([1, 2]))
        )
        part.toDF(*first).writeTo(name).append()
    if renamed:
        # By way of names that no column has.
        steps = [(old, f"new_{new}") for old, new in zip(first, columns, strict=True)]
        for old, new in steps + [(f"new_{c}", c) for c in columns]:
            spark.sql(f"ALTER TABLE {name} RENAME COLUMN {old} TO {new}")
    if r.random() < 0.5:
        spark.sql(f"DELETE FROM {name} WHERE pmod(c0, 5) = 3 OR c1 = 7")
        table.arrow = None
    if form == "delta" and r.random() < 0.2:
        spark.sql(f"OPTIMIZE {name}").collect()
    spark.table(name).createOrReplaceTempView(table.name)


def drop(spark: SparkSession, form: str, table: Table, database: str) -> None:
    """Drops what `create` has made."""
    spark.sql(f"DROP VIEW IF EXISTS {table.name}")
    spark.sql(f"DROP TABLE IF EXISTS {stored(form, table, database)}")


def stored(form: str, table: Table, database: str) -> str:
    """The name of the table that `create` has made."""
    return f"{CATALOGS[form]}.{database}.{table.name}_stored"


def version(spark: SparkSession, form: str, name: str, r: random.Random) -> DataFrame:
    """An earlier version of a table that has the columns of the present one, or the present one."""
    column = "version" if form == "delta" else "snapshot_id"
    history = spark.sql(f"DESCRIBE HISTORY {name}") if form == "delta" else spark.table(f"{name}.snapshots")
    versions = sorted(row[column] for row in history.collect())
    now = spark.table(name)
    for v in r.sample(versions, len(versions)):
        old = spark.sql(f"SELECT * FROM {name} VERSION AS OF {v}")
        if old.schema.simpleString() == now.schema.simpleString():
            return old
    return now


def _layout(form: str, columns: list[str], r: random.Random) -> str:
    """How rows are laid out; by a transform of the first column, which is a number."""
    by = columns[0]
    if form == "delta":
        return r.choice(["", "", f"CLUSTER BY ({by})"])
    return r.choice(["", "", f"PARTITIONED BY (bucket(4, {by}))", f"PARTITIONED BY (truncate(10, {by}))"])


def _properties(form: str, r: random.Random) -> str:
    if form == "delta":
        vectors = r.choice(["true", "false"])
        return f"'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = '{vectors}'"
    mode = r.choice(["copy-on-write", "merge-on-read"])
    return f"'format-version' = '2', 'write.delete.mode' = '{mode}'"
