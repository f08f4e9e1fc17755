"""`python -m springbok explain`: the report of a query in a file on data in a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from springbok.errors import SpringbokError
from springbok.report import report, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMATS = {".parquet": "parquet", ".orc": "orc", ".json": "json", ".csv": "csv"}


def run(args: argparse.Namespace) -> int:
    """Print the report; with `--run` after running the query.

    Raises:
        SpringbokError: a file or folder that cannot be read, SQL that Spark refuses, a path that cannot be written.
    """
    from springbok.demo import session

    sql = _read(args.sql)
    tables = _tables(args.data)
    spark = session(args.master, args.memory or "2g", app="springbok-explain")
    try:
        for name, path in tables.items():
            _view(spark, name, path)
        with spark_errors("Spark refuses the query"):
            df = spark.sql(sql)
            if args.run:
                df.collect()
        r = report(df)
        print(r.to_json() if args.json else r)
        if args.html:
            print(r.save_html(args.html).resolve(), file=sys.stderr)
    finally:
        spark.stop()
    return 0


def _read(path: str) -> str:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise SpringbokError(f"The query cannot be read from {path}: {e}.") from e
    text = text.strip().rstrip(";").strip()
    if not text:
        raise SpringbokError(f"There is no query in {path}.")
    return text


def _tables(folder: Path) -> dict[str, Path]:
    """What becomes a view: files of a known format, and folders, by their names without extension."""
    if not folder.is_dir():
        raise SpringbokError(f"{folder} is no folder: --data is the folder that holds a file or folder for each table.")
    found = {
        p.stem: p for p in sorted(folder.iterdir()) if p.suffix in _FORMATS or (p.is_dir() and p.name[0] not in "._")
    }
    if not found:
        raise SpringbokError(f"{folder} holds no table: no folder and no file in {', '.join(_FORMATS)}.")
    return found


def _view(spark: SparkSession, name: str, path: Path) -> None:
    kind = _FORMATS.get(path.suffix)
    if kind is None:  # a folder: what its first file is
        inside = next((p.suffix for p in sorted(path.rglob("*")) if p.suffix in _FORMATS), ".parquet")
        kind = _FORMATS[inside]
    with spark_errors(f"Spark cannot read the table {path}"):
        reader = spark.read.option("header", "true").option("inferSchema", "true") if kind == "csv" else spark.read
        reader.format(kind).load(str(path)).createOrReplaceTempView(f"`{name.replace('`', '``')}`")
