"""The data of the suites as Parquet, made locally once, in three layouts.

- plain: as generated, in row groups of about 128 MB in memory.
- clustered: fact tables sorted by date, in row groups of 250,000 rows (10 to 20 MB on disk) that can be pruned.
- partitioned: fact tables with one folder a day, so Spark's dynamic partition pruning applies.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok import tpch
from springbok.errors import SpringbokError

from benchmarks.suites import joinorder_tables, multihop, spark_tests, ssb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAYOUTS = ("plain", "clustered", "partitioned")
PLAIN_GROUP_ROWS = 1_000_000
CLUSTERED_GROUP_ROWS = 250_000
# The date column by which each fact table is clustered and partitioned.
FACTS = {
    "tpch": {"lineitem": "l_shipdate", "orders": "o_orderdate"},
    "ssb": {"lineorder": "lo_orderdate"},
    "tpcds": {
        "catalog_returns": "cr_returned_date_sk",
        "catalog_sales": "cs_sold_date_sk",
        "inventory": "inv_date_sk",
        "store_returns": "sr_returned_date_sk",
        "store_sales": "ss_sold_date_sk",
        "web_returns": "wr_returned_date_sk",
        "web_sales": "ws_sold_date_sk",
    },
    "joinorder": {},
    "multihop": {},
}
# DuckDB's names that differ from the specification.
_RENAMED = {"c_last_review_date": "c_last_review_date_sk"}


def folder(spark: SparkSession, root: Path, suite: str, scale: float, layout: str) -> Path:
    """The folder with a suite's tables, one `<table>.parquet` each; it is made if it does not exist.

    Raises:
        SpringbokError: the suite does not have this layout, or a package of the benchmarks is not installed.
    """
    plain, target = (place(root, suite, scale, to) for to in ("plain", layout))
    if plain.parent.name == "tpch":
        tpch.generate(root, scale)
    elif not plain.exists():
        with _making(plain) as part:
            _generate(spark, root, suite, scale, part)
    if layout != "plain" and not target.exists():
        facts = FACTS[plain.parent.name]
        if not facts:
            raise SpringbokError(f"{suite} has no dates to cluster or partition by: use LAYOUT=plain.")
        with _making(target) as part:
            _relay(plain, part, facts, layout)
    return target


def place(root: Path, suite: str, scale: float, layout: str) -> Path:
    """Where a suite's tables are, or will be."""
    name = f"sf{scale:g}" + ("" if layout == "plain" else f"-{layout}")
    return root / ("tpch" if suite == "useless" else suite) / name


def connect(database: Path | None = None) -> Any:
    """A DuckDB connection with a limit on its memory."""
    try:
        import duckdb
    except ImportError as e:
        raise SpringbokError("The benchmarks need their packages: pip install -e '.[demo,bench]'.") from e
    config: dict[str, Any] = {
        "allow_unsigned_extensions": "true",
        "memory_limit": "4GB",
        "preserve_insertion_order": "true",
    }
    return duckdb.connect(str(database) if database else ":memory:", config=config)


def write(con: Any, select: str, target: Path, group_rows: int = PLAIN_GROUP_ROWS) -> None:
    """Write a SELECT's rows as one Parquet file."""
    con.execute(f"COPY ({select}) TO '{target}' (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {group_rows})")


@contextmanager
def _making(target: Path) -> Iterator[Path]:
    """A folder beside the target; it is renamed to the target when it is complete."""
    print(f"Making {target} (kept for the next run)", flush=True)
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    part.rename(target)


def _generate(spark: SparkSession, root: Path, suite: str, scale: float, target: Path) -> None:
    if suite == "tpcds":
        _tpcds(spark_tests.tpcds_schema(spark), scale, target)
        return
    with connect() as con:
        if suite == "ssb":
            source = tpch.generate(root, scale)
            for table in tpch.TABLES:
                con.execute(f"CREATE VIEW {table} AS FROM read_parquet('{source / table}.parquet')")
        makers = {"ssb": ssb.tables, "joinorder": joinorder_tables.tables, "multihop": multihop.tables}
        for table, select in makers[suite](scale).items():
            write(con, select, target / f"{table}.parquet")


def _tpcds(schema: dict[str, list[tuple[str, str]]], scale: float, target: Path) -> None:
    """TPC-DS by DuckDB's extension, cast to Spark's types: DuckDB's types are wider, which changes decimal results."""
    try:
        import duckdb_extension_tpcds
    except ImportError as e:
        raise SpringbokError("TPC-DS needs a package: pip install -e '.[demo,bench]'.") from e
    extension = next(Path(duckdb_extension_tpcds.__path__[0]).rglob("*.duckdb_extension"))
    database = target / "making.duckdb"
    with connect(database) as con:
        con.execute(f"LOAD '{extension}'")
        con.execute(f"CALL dsdgen(sf={scale:g})")
        for table, columns in schema.items():
            casts = ", ".join(f"CAST({_RENAMED.get(c, c)} AS {_duckdb_type(t)}) AS {c}" for c, t in columns)
            write(con, f"SELECT {casts} FROM {table}", target / f"{table}.parquet")
    database.unlink()


def _duckdb_type(sql_type: str) -> str:
    return "VARCHAR" if sql_type.upper().startswith(("CHAR", "VARCHAR", "STRING")) else sql_type


def _relay(plain: Path, target: Path, facts: dict[str, str], layout: str) -> None:
    for source in plain.glob("*.parquet"):
        date = facts.get(source.stem)
        if date is None:
            (target / source.name).hardlink_to(source)
            continue
        select = f"SELECT * FROM read_parquet('{source}') ORDER BY {date}"
        with connect() as con:
            con.execute(f"SET temp_directory = '{target}/spill'")
            if layout == "clustered":
                write(con, select, target / source.name, CLUSTERED_GROUP_ROWS)
            else:
                con.execute("SET threads = 1")  # one file a day
                con.execute(
                    f"COPY ({select}) TO '{target / source.name}' "
                    f"(FORMAT parquet, COMPRESSION snappy, PARTITION_BY ({date}))"
                )
    shutil.rmtree(target / "spill", ignore_errors=True)
