"""Random tables: every type of key, nulls, NaN, -0.0, duplicates, skew, no rows; several files and row groups."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from springbok.jar import installed


@dataclass(frozen=True)
class Type:
    """A column's type: its name in SQL, in Arrow, what it compares with, and whether DuckDB treats it as Spark does."""

    sql: str
    arrow: Any
    family: str
    duck: bool = True


_UTC = dt.timezone.utc
_DAY, _NOON = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12)
TYPES = [
    Type("TINYINT", pa.int8(), "int"),
    Type("SMALLINT", pa.int16(), "int"),
    Type("INT", pa.int32(), "int"),
    Type("BIGINT", pa.int64(), "int"),
    Type("DECIMAL(9,2)", pa.decimal128(9, 2), "dec"),
    Type("DECIMAL(12,0)", pa.decimal128(12, 0), "dec"),
    Type("DECIMAL(17,5)", pa.decimal128(17, 5), "dec"),
    Type("DECIMAL(28,4)", pa.decimal128(28, 4), "dec"),
    Type("DOUBLE", pa.float64(), "float"),
    Type("FLOAT", pa.float32(), "float"),
    Type("DATE", pa.date32(), "date"),
    Type("TIMESTAMP", pa.timestamp("us", "UTC"), "ts"),
    Type("TIMESTAMP_NTZ", pa.timestamp("us"), "ntz"),
    Type("STRING", pa.string(), "str"),
    Type("BINARY", pa.binary(), "bin"),
    # Spark 3.5 knows no collations.
    *([Type("STRING COLLATE UTF8_LCASE", pa.string(), "coll", duck=False)] if installed().numbers >= (4, 0) else []),
    Type("CHAR(6)", pa.string(), "char", duck=False),
    Type("STRUCT<a: INT, b: STRING>", pa.struct([("a", pa.int32()), ("b", pa.string())]), "struct", duck=False),
    Type("BOOLEAN", pa.bool_(), "bool"),
]
BY_SQL = {t.sql: t for t in TYPES}
INT_LIKE = ["INT", "BIGINT", "SMALLINT", "INT", "BIGINT", "TINYINT"]
OTHERS = [t.sql for t in TYPES if t.sql not in ("TINYINT", "SMALLINT", "INT", "BIGINT", "BOOLEAN")]


def value(t: Type, v: int, r: random.Random) -> Any:
    """The value of a type that stands for the number `v`; now and then an extreme one."""
    rare = r.random() < 0.02
    bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
    if t.sql in bits:
        n = bits[t.sql]
        return r.choice([-(2**n), 2**n - 1, -1, 0]) if rare else v % 2**n
    match t.family:
        case "dec":
            scale = int(t.sql[:-1].split(",")[1])
            most = 10 ** (int(t.sql[8:].split(",")[0]) - scale) - 1
            if rare:
                return r.choice([Decimal(-most), Decimal(most), Decimal(-v), Decimal("0")])
            return Decimal(v) + (Decimal("0.5") if scale and r.random() < 0.2 else 0)
        case "float":
            if rare or r.random() < 0.03:
                return r.choice([float("nan"), -0.0, 0.0, float("inf"), float("-inf"), -1.5])
            return v + (0.5 if r.random() < 0.1 else 0.0)
        case "date":
            return r.choice([dt.date(1969, 12, 31), dt.date(1900, 1, 1)]) if rare else _DAY + dt.timedelta(v)
        case "ts" | "ntz":
            at = dt.datetime(1969, 12, 31, 23, 59, 59, 999999) if rare else _NOON + dt.timedelta(hours=12 * v)
            return at.replace(tzinfo=_UTC) if t.family == "ts" else at
        case "str":
            return r.choice(["", " ", "é", "k1 ", "K1", "x" * 300]) if rare else f"k{v}"
        case "coll":
            return f"{r.choice('kK')}{v}"
        case "char":
            return f"k{v}"[:6]
        case "bin":
            return b"" if rare else f"k{v}".encode()
        case "struct":
            return {"a": None if rare else v, "b": f"k{v % 5}"}
        case _:
            return v % 2 == 0


@dataclass
class Table:
    """A table: its columns, where it is kept, and its rows for DuckDB."""

    name: str
    columns: list[tuple[str, Type]]
    storage: str
    arrow: pa.Table

    def sql_columns(self) -> str:
        return ", ".join(f"{n} {t.sql}" for n, t in self.columns)


def _numbers(r: random.Random, rows: int, domain: int) -> list[int]:
    """Numbers of a column: unique, sorted, uniform, skewed or the same."""
    kind = r.choice(["sorted"] * 2 + ["unique"] * 2 + ["uniform"] * 4 + ["skewed", "few", "shifted"])
    match kind:
        case "sorted":
            return sorted(r.randrange(domain) for _ in range(rows))
        case "unique":
            return r.sample(range(max(rows, domain)), rows)
        case "skewed":
            hot = r.randrange(domain)
            return [hot if r.random() < min(0.3, 25 / max(1, rows)) else r.randrange(domain) for _ in range(rows)]
        case "few":
            most = max(1, rows // 20)
            return [r.randrange(domain) % most for _ in range(rows)]
        case "shifted":
            return [domain // 2 + r.randrange(domain) for _ in range(rows)]
        case _:
            return [r.randrange(domain) for _ in range(rows)]


STORAGES = ["files"] * 8 + ["partitioned"] * 4 + ["bucketed"] * 2 + ["orc", "cached", "view", "analyzed", "analyzed"]


def tables(r: random.Random) -> list[Table]:
    """The tables of one seed."""
    domain = r.choice([8, 20, 40, 100, 250])
    out = []
    for i in range(r.randint(3, 7)):
        rows = r.choice([0, 1, 40, 120, 120, 300, 300, 300, 600, 600, 2000])
        if rows > 8 * domain:
            rows = 3 * domain
        types = [r.choice(INT_LIKE), r.choice(INT_LIKE), "STRING", *r.choices(OTHERS, k=r.randint(2, 5))]
        columns = [(f"c{n}", BY_SQL[t]) for n, t in enumerate(types)]
        nulls = r.choice([0, 0, 0.05, 0.3])
        arrow = made(columns, rows, domain, nulls, r)
        storage = r.choice(STORAGES)
        # Spark's ORC reader cannot parse the type of a collated column, whatever the query.
        if storage == "orc" and any(t.family == "coll" for _, t in columns):
            storage = "files"
        out.append(Table(f"t{i}", columns, storage, arrow))
    return out


def made(columns: list[tuple[str, Type]], rows: int, domain: int, nulls: float, r: random.Random) -> pa.Table:
    """Random rows. Values stand for the numbers below `domain`; `nulls` is the fraction of nulls in most columns."""
    data = []
    for _, t in columns:
        none = 1.0 if r.random() < 0.01 else nulls if r.random() < 0.6 else 0.0
        numbers = _numbers(r, rows, domain)
        data.append([None if r.random() < none else value(t, v, r) for v in numbers])
    arrays = [pa.array(d, t.arrow) for d, (_, t) in zip(data, columns, strict=True)]
    return pa.table(arrays, names=[n for n, _ in columns])


def arrow_schema(columns: list[tuple[str, Type]]) -> pa.Schema:
    return pa.schema([(n, c.arrow) for n, c in columns])


def write(table: Table, folder: Path, r: random.Random) -> Path:
    """The table as Parquet: up to three files, small row groups."""
    path = folder / table.name
    path.mkdir(parents=True)
    rows = table.arrow.num_rows
    files = r.choice([1, 2, 3])
    size = -(-max(1, rows) // files)
    for i in range(files):
        part = table.arrow.slice(i * size, size)
        if part.num_rows or i == 0:
            save(part, path / f"part-{i}.parquet", r.choice([20, 100, 1000]))
    return path


def save(rows: pa.Table, file: Path, group: int) -> None:
    """Rows as a Parquet file."""
    pq.write_table(rows, file, row_group_size=group)
