"""TPC-H on Parquet made here, without and with Springbok in one process, answers compared."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.compare import answer
from springbok.errors import SpringbokError
from springbok.record import Report
from springbok.report import report
from springbok.session import configure, disabled
from springbok.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
QUERIES = tuple(f"q{i}" for i in range(1, 23))


@dataclass(frozen=True)
class Row:
    """One line of the demo's table; times in seconds, medians of the timed runs."""

    query: str
    off: float
    on: float
    off_runs: tuple[float, ...]
    on_runs: tuple[float, ...]
    joins: int
    joins_changed: int
    filters_placed: int
    filters_used: int
    rows_removed: int
    row_groups_removed: int
    equal: bool
    answer_rows: int


def run(args: argparse.Namespace) -> int:
    """Run the demo; 1 if an answer differs, else 0.

    Raises:
        SpringbokError: a query that does not exist, or a package of the demo that is not installed.
    """
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError as e:
        raise SpringbokError("The demo needs its extra packages: pip install 'springbok[demo]'.") from e
    queries = _chosen(args.queries)
    console = Console()
    if not console.is_terminal:  # a log: no narrower than the table
        console = Console(width=132)
    data = generate(args.data, args.scale, console.print)
    args.memory = args.memory or _half_memory()
    spark = session(args.master, args.memory)
    load(spark, data)
    rows: list[Row] = []
    shown: Report | None = None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("warming up", total=len(queries))
        # The JVM compiles for a while: without this the first query would be charged for it.
        for q in dict.fromkeys((queries[0], "q6", "q3")):
            for on in (False, True):
                _timed(spark, query(q), on)
        for i, q in enumerate(queries):
            progress.update(bar, description=q)
            row, r = compare(spark, q, args.runs, on_first=i % 2 == 1)
            rows.append(row)
            if shown is None or q == "q3" or (row.rows_removed > 0 and not any(f.rows_removed for f in shown.filters)):
                shown = r
                name = q
            progress.advance(bar)
    console.print(_table(rows, args.scale))
    if shown:
        console.print(f"\nThe strategy report of {name}:\n", markup=False)
        console.print(str(shown), markup=False, highlight=False)
        console.print(f"\nThe same as a page: {shown.save_html(args.data / 'report.html').resolve()}", soft_wrap=True)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(_figures(args, spark.version, rows), indent=1) + "\n", encoding="utf-8")
    spark.stop()
    different = [r.query for r in rows if not r.equal]
    if different:
        console.print(f"Answers differ: {', '.join(different)}")
    return 1 if different else 0


def _figures(args: argparse.Namespace, version: str, rows: list[Row]) -> dict[str, Any]:
    """The table's figures with where they were taken."""
    return {
        "command": f"springbok demo --scale {args.scale:g} --queries {args.queries} --runs {args.runs} "
        f"--master {args.master}",
        "machine": {"cores": os.cpu_count(), "architecture": platform.machine(), "driver_memory": args.memory},
        "versions": {"spark": version, "springbok": __version__, "python": platform.python_version()},
        "rows": [asdict(r) for r in rows],
    }


def query(name: str) -> str:
    """The text of a TPC-H query."""
    return (files("springbok") / "tpch" / f"{name}.sql").read_text(encoding="utf-8")


def session(
    master: str, memory: str, app: str = "springbok-demo", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session as a user would make one, with Springbok; `settings` are Spark's, by key."""
    from pyspark.sql import SparkSession

    builder = (
        configure(SparkSession.builder)
        .master(master)
        .appName(app)
        .config("spark.driver.memory", memory)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
    )
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def load(spark: SparkSession, data: Path) -> None:
    """Make the tables temporary views."""
    for t in TABLES:
        spark.read.parquet(str(data / f"{t}.parquet")).createOrReplaceTempView(t)


def generate(root: Path, scale: float, say: Any = print) -> Path:
    """The folder with TPC-H of this scale as Parquet, made if it is not there.

    Raises:
        SpringbokError: the generator is not installed or fails.
    """
    folder = root / "tpch" / f"sf{scale:g}"
    if all((folder / f"{t}.parquet").exists() for t in TABLES):
        return folder
    exe = shutil.which("tpchgen-cli", path=os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", ""))))
    if exe is None:
        raise SpringbokError("The demo needs tpchgen-cli: pip install 'springbok[demo]'.")
    say(f"Generating TPC-H at scale {scale:g} in {folder} (kept for the next run)")
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    done = subprocess.run(
        [exe, "parquet", "-s", f"{scale:g}", "-o", str(part), "-q"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SpringbokError(f"tpchgen-cli failed: {done.stderr.strip()[-300:]}")
    part.rename(folder)
    return folder


def compare(spark: SparkSession, name: str, runs: int, *, on_first: bool = False) -> tuple[Row, Report]:
    """Run one query without and with Springbok, in alternating order."""
    sql = query(name)
    times: dict[bool, list[float]] = {False: [], True: []}
    answers: dict[bool, list[tuple[str, ...]]] = {}
    reports: dict[bool, Report] = {}
    for i in range(runs):
        for on in (True, False) if on_first == (i % 2 == 0) else (False, True):
            seconds, answer, r = _timed(spark, sql, on)
            times[on].append(seconds)
            answers[on] = answer
            reports[on] = r
    off, on_ = reports[False], reports[True]
    used = [f for f in on_.filters if f.status == "used"]
    row = Row(
        query=name,
        off=statistics.median(times[False]),
        on=statistics.median(times[True]),
        off_runs=tuple(times[False]),
        on_runs=tuple(times[True]),
        joins=sum(on_.strategies.values()),
        joins_changed=_changed(off.strategies, on_.strategies),
        filters_placed=sum(1 for f in on_.filters if f.id),
        filters_used=len(used),
        rows_removed=sum(f.rows_removed or 0 for f in used),
        row_groups_removed=sum(f.row_groups_removed or 0 for f in used),
        equal=answers[False] == answers[True],
        answer_rows=len(answers[True]),
    )
    return row, on_


def _timed(spark: SparkSession, sql: str, on: bool) -> tuple[float, list[tuple[str, ...]], Report]:
    def once() -> tuple[float, list[tuple[str, ...]], Report]:
        start = time.perf_counter()
        df = spark.sql(sql)
        rows = df.collect()
        seconds = time.perf_counter() - start
        return seconds, answer(rows), report(df)

    if on:
        return once()
    with disabled(spark):
        return once()


def _changed(off: dict[str, int], on: dict[str, int]) -> int:
    """Joins whose strategy differs: those of a strategy that are gone, or new."""
    names = off.keys() | on.keys()
    less = sum(max(0, off.get(n, 0) - on.get(n, 0)) for n in names)
    more = sum(max(0, on.get(n, 0) - off.get(n, 0)) for n in names)
    return max(less, more)


def _chosen(text: str) -> list[str]:
    chosen = list(QUERIES) if text == "all" else [q.strip().lower() for q in text.split(",") if q.strip()]
    unknown = [q for q in chosen if q not in QUERIES]
    if unknown or not chosen:
        raise SpringbokError(f"There is no TPC-H query {', '.join(unknown) or text!r}: choose among q1 to q22.")
    return chosen


def _half_memory() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{max(2, min(8, pages // 2 // 2**30))}g"


def _table(rows: list[Row], scale: float) -> Any:
    from rich.table import Table

    table = Table(title=f"TPC-H, scale {scale:g}: Spark without and with Springbok")
    for head in (
        "query",
        "off s",
        "on s",
        "off/on",
        "joins changed",
        "filters placed/used",
        "rows removed",
        "row groups removed",
        "answers",
    ):
        table.add_column(head, justify="left" if head in ("query", "answers") else "right")
    for r in rows:
        table.add_row(
            r.query,
            f"{r.off:.2f}",
            f"{r.on:.2f}",
            f"{r.off / r.on:.2f}x",
            f"{r.joins_changed}/{r.joins}",
            f"{r.filters_placed}/{r.filters_used}",
            f"{r.rows_removed:,}",
            str(r.row_groups_removed),
            "equal" if r.equal else "DIFFERENT",
        )
    total_off, total_on = sum(r.off for r in rows), sum(r.on for r in rows)
    geomean = statistics.geometric_mean([r.off / r.on for r in rows])
    table.add_section()
    table.add_row(
        "all",
        f"{total_off:.1f}",
        f"{total_on:.1f}",
        f"{geomean:.2f}x geomean",
        "",
        "",
        f"{sum(r.rows_removed for r in rows):,}",
        "",
        "",
    )
    return table
