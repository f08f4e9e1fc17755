"""`python -m springbok explain`: the report of a query, on files, a catalog or a server."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from springbok._jvm import spark_errors
from springbok.checks import CONDITIONS, check_names
from springbok.cli.local import quiet_session
from springbok.comparison import Comparison, compare
from springbok.errors import SpringbokError
from springbok.explanations import why_not
from springbok.reports import Report, report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Table formats by the folder that they have.
_LAKES = {"_delta_log": "delta", "metadata": "iceberg"}
_FORMATS = {".parquet": "parquet", ".orc": "orc", ".json": "json", ".csv": "csv"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--sql", help="file with the query, - for standard input")
    what.add_argument("--saved", type=Path, help="file with the JSON of a report or comparison: needs no session")
    parser.add_argument("--data", type=Path, help="folder with a file or folder for each table (default: the catalog)")
    parser.add_argument("--compare", action="store_true", help="compare the plans without and with Springbok")
    parser.add_argument("--run", action="store_true", help="run the query first and report what was observed")
    parser.add_argument("--verbose", action="store_true", help="print the whole report: costs, tables, fragments, ...")
    parser.add_argument("--html", type=Path, help="also write the report as a page")
    parser.add_argument("--json", action="store_true", help="print the report as JSON instead of text")
    check = f"fail if the plan violates it, such as max_broadcast=1g or no_cartesian; among {', '.join(CONDITIONS)}"
    parser.add_argument("--check", action="append", default=[], metavar="CONDITION", help=check)
    asked = "instead of the report, say why a join or filter is not this: colocate, broadcast, bloom, late, ..."
    parser.add_argument("--why-not", metavar="WHAT", help=asked)
    parser.add_argument("--table", help="with --why-not: only joins with keys of this table, or filters on its scan")
    parser.add_argument("--master", default="local[*]", help="or a Spark Connect server, sc://host (default: local[*])")
    parser.add_argument("--memory", default="2g", help="driver memory (default: 2g)")
    conf = "a setting of Spark, such as that of a catalog or spark.jars.packages"
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help=conf)


def run(args: argparse.Namespace) -> int:
    """Print the report or comparison, or the answer to a question; with `--run` after running the query.

    Raises:
        SpringbokError: a file or folder that cannot be read, SQL that Spark refuses, a path that cannot be written, a
            violated condition of `--check`.
    """
    conditions = _conditions(args.check)
    check_names(conditions)
    if args.saved:
        return _show(args, _saved(args.saved), conditions)
    if args.master.startswith("sc:") and args.data:
        raise SpringbokError("A server does not see the files of --data: leave it out and name tables of its catalog.")
    sql = _read(args.sql)
    tables = _tables(args.data) if args.data else {}
    settings = {key: value for key, _, value in (option.partition("=") for option in args.conf)}
    with quiet_session(args.master, args.memory, "springbok-explain", settings) as spark:
        for name, path in tables.items():
            _view(spark, name, path)
        with spark_errors("Spark refuses the query"):
            df = spark.sql(sql)
        return _show(args, compare(df, run=args.run) if args.compare else _report(df, run=args.run), conditions)


def _report(df: DataFrame, *, run: bool) -> Report:
    if run:
        with spark_errors("The query failed"):
            df.collect()
    r = report(df)
    # Spark Connect plans a query anew each time that it is asked of it.
    return report(df, observed=True) if run and r.joins and r.state != "executed" else r


def _show(args: argparse.Namespace, found: Report | Comparison, conditions: dict[str, str | bool]) -> int:
    if args.why_not:
        print(why_not(found if isinstance(found, Report) else found.on, args.why_not, args.table))
    else:
        print(found.to_json() if args.json else found.text(verbose=args.verbose))
    if args.html:
        print(found.save_html(args.html).resolve(), file=sys.stderr)
    found.check(**conditions)
    return 0


def _saved(path: Path) -> Report | Comparison:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return Comparison.from_dict(document) if "on" in document else Report.from_dict(document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise SpringbokError(f"{path} has no report as explain --json and to_json() write it: {e}.") from e


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
    package = f"; {kind} needs --conf spark.jars.packages=... and its extension" if kind in _LAKES.values() else ""
    with spark_errors(f"Spark cannot read the table {path}{package}"):
        reader = spark.read.option("header", "true").option("inferSchema", "true") if kind == "csv" else spark.read
        reader.format(kind).load(str(path)).createOrReplaceTempView(f"`{name.replace('`', '``')}`")


def _of_folder(path: Path) -> str:
    """The format of a folder: that of a table format, or of its first file.

    Spark reads no files whose names begin with `_` or `.`.
    """
    if lake := next((kind for folder, kind in _LAKES.items() if (path / folder).is_dir()), None):
        return lake
    files = (p for p in sorted(path.rglob("*")) if not any(part[0] in "._" for part in p.relative_to(path).parts))
    return _FORMATS[next((p.suffix for p in files if p.suffix in _FORMATS), ".parquet")]
