"""`python -m springbok explain`: the report of a query in a file on data in a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from springbok._jvm import spark_errors
from springbok.checks import CONDITIONS, check_names
from springbok.cli.local import quiet_session
from springbok.errors import SpringbokError
from springbok.explanations import why_not
from springbok.reports import report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMATS = {".parquet": "parquet", ".orc": "orc", ".json": "json", ".csv": "csv"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--sql", required=True, help="file with the query, - for standard input")
    parser.add_argument("--data", type=Path, required=True, help="folder with a file or folder for each table")
    parser.add_argument("--run", action="store_true", help="run the query first and report what was observed")
    parser.add_argument("--verbose", action="store_true", help="print the whole report: costs, tables, fragments, ...")
    parser.add_argument("--html", type=Path, help="also write the report as a page")
    parser.add_argument("--json", action="store_true", help="print the report as JSON instead of text")
    parser.add_argument(
        "--check",
        action="append",
        default=[],
        metavar="CONDITION",
        help=f"fail if the plan violates it, such as max_broadcast=1g or no_cartesian; among {', '.join(CONDITIONS)}",
    )
    parser.add_argument(
        "--why-not",
        metavar="WHAT",
        help="instead of the report, say why a join or filter is not this: colocate, broadcast, bloom, late, ...",
    )
    parser.add_argument("--table", help="with --why-not: only joins with keys of this table, or filters on its scan")
    parser.add_argument("--master", default="local[*]", help="Spark master (default: local[*])")
    parser.add_argument("--memory", default="2g", help="driver memory (default: 2g)")


def run(args: argparse.Namespace) -> int:
    """Print the report, or the answer to a question about it; with `--run` after running the query.

    Raises:
        SpringbokError: a file or folder that cannot be read, SQL that Spark refuses, a path that cannot be written, a
            violated condition of `--check`.
    """
    sql = _read(args.sql)
    tables = _tables(args.data)
    conditions = _conditions(args.check)
    check_names(conditions)
    with quiet_session(args.master, args.memory, "springbok-explain") as spark:
        for name, path in tables.items():
            _view(spark, name, path)
        with spark_errors("Spark refuses the query"):
            df = spark.sql(sql)
        if args.run:
            with spark_errors("The query failed"):
                df.collect()
        r = report(df)
        if args.why_not:
            print(why_not(r, args.why_not, args.table))
        else:
            print(r.to_json() if args.json else r.text(verbose=args.verbose))
        if args.html:
            print(r.save_html(args.html).resolve(), file=sys.stderr)
        r.check(**conditions)
    return 0


def _conditions(options: list[str]) -> dict[str, str | bool]:
    """`max_broadcast=1g` and `no_cartesian` as `Report.check` takes them."""
    pairs = (option.partition("=") for option in options)
    words: dict[str, str | bool] = {"true": True, "false": False}
    return {n.strip(): words.get(v.strip().lower(), v.strip()) if equals else True for n, equals, v in pairs}


def _read(path: str) -> str:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise SpringbokError(f"The query cannot be read from {path}: {e}.") from e
    text = text.strip().rstrip(";").strip()
    if not text:
        raise SpringbokError(f"There is no query in {path}.")
    return text


def _tables(folder: Path) -> dict[str, Path]:
    """What becomes a view: files of a known format, and folders, by their names without extension."""
    if not folder.is_dir():
        raise SpringbokError(
            f"{folder} is no folder: --data takes the folder that holds a file or folder for each table."
        )
    found = {
        p.stem: p for p in sorted(folder.iterdir()) if p.suffix in _FORMATS or (p.is_dir() and p.name[0] not in "._")
    }
    if not found:
        raise SpringbokError(f"{folder} holds no table: no folder and no file in {', '.join(_FORMATS)}.")
    return found


def _view(spark: SparkSession, name: str, path: Path) -> None:
    kind = _FORMATS.get(path.suffix) or _of_folder(path)
    with spark_errors(f"Spark cannot read the table {path}"):
        reader = spark.read.option("header", "true").option("inferSchema", "true") if kind == "csv" else spark.read
        reader.format(kind).load(str(path)).createOrReplaceTempView(f"`{name.replace('`', '``')}`")


def _of_folder(path: Path) -> str:
    """The format of a folder: that of its first file. Spark reads no files whose names begin with `_` or `.`."""
    if (path / "_delta_log").is_dir() or (path / "metadata").is_dir():
        raise SpringbokError(
            f"{path} is a Delta or Iceberg table, and explain reads plain files: use springbok.report(df) in a session "
            "that can read it."
        )
    files = (p for p in sorted(path.rglob("*")) if not any(part[0] in "._" for part in p.relative_to(path).parts))
    return _FORMATS[next((p.suffix for p in files if p.suffix in _FORMATS), ".parquet")]
