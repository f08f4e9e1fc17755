"""Changes of tables between two runs of a query: rows, files, partitions and columns come and go."""

from __future__ import annotations

import json
import random
import uuid
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from springbok import history

from qa.fuzz import engine, lake
from qa.fuzz.data import BY_SQL, Table, made

FILES = ("files", "view", "cached")
FILE_CHANGES = ["append", "append", "overwrite", "same size", "remove a file", "remove rows", "add a column"]
CATALOG_CHANGES = ["append", "append", "overwrite", "drop a partition", "add a column"]
ROW_CHANGES = ["append", "append", "overwrite", "delete", "update", "optimize"]
LAKE_CHANGES = [*ROW_CHANGES, "add a column", "earlier version", "earlier version"]


def change(spark: SparkSession, t: Table, where: Path, r: random.Random) -> str:
    """Changes a table that `engine.load` has made in the folder `where`; returns what was done."""
    if t.storage in FILES:
        kind = r.choice(FILE_CHANGES)
        in_files(kind, t, where / t.name, r)
        engine.view(spark, t, engine.raw(spark, t, where / t.name))
    elif t.storage in lake.UNKNOWN:
        kind = r.choice(LAKE_CHANGES)
        _in_lake(spark, kind, t, where, r)
    else:
        kind = r.choice(CATALOG_CHANGES)
        _in_catalog(spark, kind, t, where, r)
    return f"{kind}: {t.name}"


def rows(t: Table, r: random.Random) -> pa.Table:
    """Random rows of the table's columns, from few to very many of each value."""
    return made(t.columns, r.choice([0, 1, 30, 200, 1500]), r.choice([1, 8, 100, 1500]), r.choice([0, 0, 0.3]), r)


def in_files(kind: str, t: Table, path: Path, r: random.Random) -> None:
    """Changes the Parquet files of a folder. One file at least is left, with a column for each of the table."""
    files = sorted(path.glob("*.parquet"))
    old = pa.concat_tables([pq.read_table(f) for f in files])
    match kind:
        case "append":
            _write(rows(t, r), path)
        case "overwrite":
            _replace(files, rows(t, r), path)
        case "same size":
            # Each column keeps its values, but in other rows.
            columns = [c.take(pa.array(r.sample(range(len(old)), len(old)), pa.int64())) for c in old.columns]
            _replace(files, pa.table(columns, schema=old.schema), path)
        case "remove a file" if len(files) > 1:
            r.choice(files).unlink()
        case "add a column":
            name = _add_column(t)
            _replace(
                files, old.append_column(name, pa.array([r.randrange(9) for _ in range(len(old))], pa.int32())), path
            )
        case _:
            _replace(files, old.take(pa.array([i for i in range(len(old)) if r.random() < 0.3], pa.int64())), path)


def poison(folder: Path, r: random.Random) -> int:
    """Multiplies the rows of all entries of a shared history by random numbers; returns how many there are."""
    found = [json.loads(e.text) for e in history.read(folder).entries if e.rows is not None]
    lines = []
    for entry in found:
        entry["rows"] = int(entry["rows"] * r.choice([0, 0.001, 1, 1000, 1e9]))
        # The later one of two entries counts.
        entry["last"] += 1
        text = json.dumps(entry, separators=(",", ":"))
        lines.append(f"{zlib.crc32(text.encode()):08x} {text}\n")
    (folder / f"history-{uuid.uuid4()}.jsonl").write_text("".join(lines))
    return len(lines)


def _write(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path / f"part-{uuid.uuid4()}.parquet", row_group_size=100)


def _replace(old: list[Path], table: pa.Table, path: Path) -> None:
    for f in old:
        f.unlink()
    _write(table, path)


def _add_column(t: Table) -> str:
    name = f"c{len(t.columns)}"
    t.columns.append((name, BY_SQL["INT"]))
    return name


def _new(spark: SparkSession, t: Table, where: Path, r: random.Random) -> DataFrame:
    """New rows, in a folder of their own."""
    path = where / f"{t.name}_{uuid.uuid4()}"
    path.mkdir()
    _write(rows(t, r), path)
    return engine.raw(spark, t, path)


def _in_catalog(spark: SparkSession, kind: str, t: Table, where: Path, r: random.Random) -> None:
    key = engine.partition_key(spark, t)
    match kind:
        case "add a column":
            spark.sql(f"ALTER TABLE {t.name} ADD COLUMNS ({_add_column(t)} INT)")
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
        case "add a column":
            spark.sql(f"ALTER TABLE {name} ADD COLUMN {_add_column(t)} INT")
        case "earlier version":
            pass
        case _:
            _new(spark, t, where, r).createOrReplaceTempView("written")
            spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM written")
    now = lake.version(spark, t.storage, name, r) if kind == "earlier version" else spark.table(name)
    now.createOrReplaceTempView(t.name)
