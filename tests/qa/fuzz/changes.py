"""Changes of tables between two runs of a query: rows, files, partitions and columns come and go."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from qa.fuzz import engine, lake
from qa.fuzz.data import BY_SQL, Table, Type, arrow_schema, made, save

FILES = ("files", "view", "cached")
COLUMN_CHANGES = ["add a column", "widen a column"]
FILE_CHANGES = ["append", "append", "overwrite", "in place", "in place", "remove a file", "delete", *COLUMN_CHANGES]
CATALOG_CHANGES = ["append", "append", "overwrite", "drop a partition", "add a column"]
ROW_CHANGES = ["append", "append", "overwrite", "delete", "update", "optimize"]
LAKE_CHANGES = [*ROW_CHANGES, *COLUMN_CHANGES, "earlier version", "earlier version", "earlier version"]
WIDER = {"TINYINT": "SMALLINT", "SMALLINT": "INT", "INT": "BIGINT", "FLOAT": "DOUBLE"}


def states(
    spark: SparkSession, sql: str, data: list[Table], where: Path, r: random.Random, steps: int
) -> Iterator[tuple[str, str | None]]:
    """What was done so far, and why the last change failed if it did: at first nothing, then change by change.

    The tables of the query change, one at a time, in the folder in which `engine.load` has made them.
    """
    yield "", None
    used = [t for t in data if re.search(rf"\b{t.name}\b", sql)]
    done = ""
    for _ in range(steps if used else 0):
        t = r.choice(used)
        try:
            done += f", {change(spark, t, where, r)}: {t.name}"
            yield done, None
        except Exception as e:
            yield done, str(e)


def change(spark: SparkSession, t: Table, where: Path, r: random.Random) -> str:
    """Changes a table; returns what was done."""
    if t.storage in FILES:
        kind = r.choice(FILE_CHANGES)
        in_files(kind, t, where / t.name, r)
        # A query that has listed the files before does not see that they were replaced.
        if kind != "in place" or t.storage == "cached":
            engine.view(spark, t, engine.raw(spark, t, where / t.name))
    elif t.storage in lake.UNKNOWN:
        kind = r.choice(LAKE_CHANGES)
        _in_lake(spark, kind, t, where, r)
    else:
        kind = r.choice(CATALOG_CHANGES)
        _in_catalog(spark, kind, t, where, r)
    return kind


def rows(t: Table, r: random.Random) -> pa.Table:
    """Random rows of the table's columns, from few to many of each value."""
    return made(
        t.columns, r.choice([0, 30, 100, 200, 200, 1500]), r.choice([20, 40, 100, 250]), r.choice([0, 0, 0.3]), r
    )


def in_files(kind: str, t: Table, path: Path, r: random.Random) -> None:
    """Changes the Parquet files of a folder. One file at least is left; older ones may lack columns or be narrower."""
    files = sorted(path.glob("*.parquet"))
    match kind:
        case "append":
            _write(rows(t, r), path, r)
        case "overwrite":
            _replace(files, rows(t, r), path, r)
        case "in place":
            _swap(r.choice(files), r)
        case "remove a file" if len(files) > 1:
            r.choice(files).unlink()
        case "add a column" | "widen a column":
            _have(t, *_column(kind, t, r))
            _write(rows(t, r), path, r)
        case _:
            _replace(files, _some(contents(t, path), 0.3, r), path, r)


def contents(t: Table, path: Path) -> pa.Table:
    """All rows of a folder, with all columns of the table."""
    schema = arrow_schema(t.columns)
    files = [pq.read_table(f) for f in sorted(path.glob("*.parquet"))]
    return (
        pa.concat_tables([*files, schema.empty_table()], promote_options="permissive").select(schema.names).cast(schema)
    )


def _write(table: pa.Table, path: Path, r: random.Random) -> None:
    save(table, path / f"part-{r.getrandbits(64):x}.parquet", 100)


def _replace(old: list[Path], table: pa.Table, path: Path, r: random.Random) -> None:
    for f in old:
        f.unlink()
    _write(table, path, r)


def _some(table: pa.Table, part: float, r: random.Random) -> pa.Table:
    """Some rows of a table, in another order."""
    at = r.sample(range(len(table)), int(len(table) * part))
    return table.take(pa.array(at, pa.int64()))


def _swap(file: Path, r: random.Random) -> None:
    """Puts other rows in place of a file, which keeps its name, its length and its time."""
    before, old = file.stat(), pq.read_table(file)
    new = file.with_suffix(".new")
    # Each column keeps some of its values, in other rows. The footer is made as long as it takes.
    columns = [_some(old.select([n]), 0.8, random.Random(r.random())).column(0) for n in old.column_names]
    table = pa.table(columns, schema=old.schema)
    padding = 0
    for _ in range(20):
        with pq.ParquetWriter(new, table.schema, store_schema=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"pad": "x" * padding})
        missing = before.st_size - new.stat().st_size
        if missing == 0 or padding + missing < 0:
            break
        padding += missing
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(file)


def _column(kind: str, t: Table, r: random.Random) -> tuple[str, Type]:
    """A column that the table will have in place of a narrower one; or else a new one."""
    narrow = [(name, BY_SQL[WIDER[c.sql]]) for name, c in t.columns if c.sql in WIDER]
    return r.choice(narrow) if narrow and kind == "widen a column" else (f"c{len(t.columns)}", BY_SQL["INT"])


def _have(t: Table, name: str, column: Type) -> None:
    """The table has the column now."""
    t.columns = list((dict(t.columns) | {name: column}).items())


def _new(spark: SparkSession, t: Table, where: Path, r: random.Random) -> DataFrame:
    """New rows, in a folder of their own."""
    path = where / f"{t.name}_{r.getrandbits(64):x}"
    path.mkdir()
    _write(rows(t, r), path, r)
    return engine.raw(spark, t, path)


def _in_catalog(spark: SparkSession, kind: str, t: Table, where: Path, r: random.Random) -> None:
    key = engine.partition_key(spark, t)
    match kind:
        case "add a column":
            column, added = _column(kind, t, r)
            spark.sql(f"ALTER TABLE {t.name} ADD COLUMNS ({column} {added.sql})")
            _have(t, column, added)
        case "drop a partition" if key:
            values = spark.sql(f"SELECT DISTINCT {key} FROM {t.name} WHERE {key} IS NOT NULL ORDER BY {key}").collect()
            if values:
                spark.sql(f"ALTER TABLE {t.name} DROP PARTITION ({key} = '{r.choice(values)[0]}')")
        case "append":
            engine.insert(spark, t, _new(spark, t, where, r), "INTO")
        case _:
            engine.insert(spark, t, _new(spark, t, where, r), "OVERWRITE")


def _in_lake(spark: SparkSession, kind: str, t: Table, where: Path, r: random.Random) -> None:
    name = lake.stored(t.storage, t, where.name)
    match kind:
        case "append":
            _new(spark, t, where, r).writeTo(name).append()
        case "delete":
            spark.sql(f"DELETE FROM {name} WHERE pmod(c0, {r.choice([1, 2, 10])}) = 0")
        case "update":
            spark.sql(f"UPDATE {name} SET c1 = {r.choice(['NULL', '7', 'c0 % 5'])} WHERE pmod(c0, 3) = 1")
        case "optimize" if t.storage == "delta":
            spark.sql(f"OPTIMIZE {name}").collect()
        case "add a column" | "widen a column":
            column, changed = _column(kind, t, r)
            if t.storage == "delta":
                spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
            how = f"ALTER COLUMN {column} TYPE" if column in dict(t.columns) else f"ADD COLUMN {column}"
            spark.sql(f"ALTER TABLE {name} {how} {changed.sql}")
            _have(t, column, changed)
        case "earlier version":
            pass
        case _:
            _new(spark, t, where, r).createOrReplaceTempView("written")
            spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM written")
    now = lake.version(spark, t.storage, name, r) if kind == "earlier version" else spark.table(name)
    now.createOrReplaceTempView(t.name)
