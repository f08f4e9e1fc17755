"""`python -m springbok demo`: TPC-H without and with Springbok in one process, answers compared."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok import __version__, tpch
from springbok.cli.local import quiet_session
from springbok.comparison import Run, timed
from springbok.errors import SpringbokError
from springbok.reports import Report
from springbok.session import disabled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HEAD = ("query", "Spark", "Springbok", "speedup", "joins changed", "filters used", "rows removed", "answers")
_LINE = "{:<5}  {:>8}  {:>9}  {:>7}  {:>13}  {:>12}  {:>13}  {:>9}"
_NEXT = """
What next
  Your own query:    python -m springbok explain --sql query.sql --data FOLDER --run
  Your own session:  spark = springbok.configure(SparkSession.builder).getOrCreate(); print(springbok.report(df))
  Why plans differ:  print(springbok.compare(df, run=True)), or open {page}"""


@dataclass(frozen=True)
class Row:
    """One line of the demo's table; times in seconds, medians of the timed runs."""

    query: str
    spark: float
    springbok: float
    spark_runs: tuple[float, ...]
    springbok_runs: tuple[float, ...]
    joins: int
    joins_changed: int
    filters_placed: int
    filters_used: int
    rows_removed: int
    row_groups_removed: int
    equal: bool
    answer_rows: int


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--scale", type=float, default=1, help="TPC-H scale factor, 1 is about 1 GB (default: 1)")
    parser.add_argument("--queries", default="all", help="for example q3,q5 (default: all)")
    parser.add_argument("--runs", type=int, default=1, help="timed runs of each query, of which the median counts")
    parser.add_argument("--data", type=Path, default=Path(".cache"), help="where the tables are kept (default: .cache)")
    parser.add_argument("--master", default="local[*]", help="Spark master (default: local[*])")
    parser.add_argument("--memory", default=_half_memory(), help="driver memory (default: half of this machine's)")
    parser.add_argument("--json", type=Path, help="also write the table's figures to this file")


def run(args: argparse.Namespace) -> int:
    """Run the demo; 1 if an answer differs, else 0.

    Raises:
        SpringbokError: a query that does not exist, or a package of the demo that is not installed.
    """
    queries = _chosen(args.queries)
    if args.runs < 1:
        raise SpringbokError("--runs takes a whole number from 1 on.")
    if not 0 < args.scale < math.inf:
        raise SpringbokError("--scale takes a number above 0.")
    say = partial(print, flush=True)
    generated = tpch.generate(args.data, args.scale, say)
    with quiet_session(args.master, args.memory, "springbok-demo") as spark:
        folder = tpch.written_by_spark(spark, generated, say)
        say(f"TPC-H at scale {args.scale:g}: seconds without and with Springbok, each query after a warm-up")
        warm_up = _warm_up(spark, folder)
        tpch.load(spark, folder)
        say(_LINE.format(*_HEAD))
        measured = []
        for i, q in enumerate(queries):
            warm_up(q)
            measured.append(measure(spark, q, args.runs, springbok_first=i % 2 == 1))
            say(_LINE.format(*_cells(q, [measured[-1][0]], 2)))
    rows = [row for row, _ in measured]
    say(_LINE.format(*_cells("all", rows, 1)))
    row, shown = max(measured, key=lambda m: (m[0].query == "q3", m[0].rows_removed))
    say(f"\nWhat Springbok decided in {row.query}:\n\n{shown}")
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(_figures(args, shown.spark, rows), indent=1) + "\n", encoding="utf-8")
    say(_NEXT.format(page=shown.save_html(args.data / "report.html")))
    return 0 if all(r.equal for r in rows) else 1


def measure(spark: SparkSession, name: str, runs: int, *, springbok_first: bool = False) -> tuple[Row, Report]:
    """A query without and with Springbok by turns, and the report of the last run with it."""
    both = [_both(spark, name, springbok_first=springbok_first == (i % 2 == 0)) for i in range(runs)]
    off, on = (tuple(pair[i].seconds for pair in both) for i in (0, 1))
    without, with_ = both[-1]
    report = with_.report
    used = [f for f in report.filters if f.status == "used"]
    row = Row(
        query=name,
        spark=statistics.median(off),
        springbok=statistics.median(on),
        spark_runs=off,
        springbok_runs=on,
        joins=sum(report.strategies.values()),
        joins_changed=_changed(without.report.strategies, report.strategies),
        filters_placed=sum(1 for f in report.filters if f.id),
        filters_used=len(used),
        rows_removed=sum(f.rows_removed or 0 for f in used),
        row_groups_removed=sum(f.row_groups_removed or 0 for f in used),
        equal=without.answer == with_.answer,
        answer_rows=len(with_.answer),
    )
    return row, report


def _both(spark: SparkSession, name: str, *, springbok_first: bool) -> tuple[Run, Run]:
    """A run without and one with Springbok."""
    runs = {}
    for on in (springbok_first, not springbok_first):
        with nullcontext() if on else disabled(spark):
            runs[on] = timed(lambda: spark.sql(tpch.query(name)))
    return runs[False], runs[True]


def _warm_up(spark: SparkSession, folder: Path) -> Callable[[str], object]:
    """What runs a query in both ways until the JVM has compiled it, so that the table does not show its compiler.

    The first file of each table does: the plans are nearly always the same, in a fraction of the time. All files are
    read here, which brings them into the operating system's cache.
    """
    for file in folder.rglob("part-*"):
        file.read_bytes()
    small = spark.newSession()
    tpch.load(small, folder, first_files=True)
    for q in ("q6", "q3"):
        _both(small, q, springbok_first=False)
    return lambda name: _both(small, name, springbok_first=False)


def _changed(off: dict[str, int], on: dict[str, int]) -> int:
    """The number of joins whose strategy differs: the larger one of those that are gone and those that are new."""
    without, with_ = Counter(off), Counter(on)
    return max((without - with_).total(), (with_ - without).total())


def _chosen(text: str) -> list[str]:
    chosen = list(tpch.QUERIES) if text == "all" else [q.strip().lower() for q in text.split(",") if q.strip()]
    unknown = [q for q in chosen if q not in tpch.QUERIES]
    if unknown or not chosen:
        raise SpringbokError(f"There is no TPC-H query {', '.join(unknown) or text!r}: choose among q1 to q22.")
    return chosen


def _half_memory() -> str:
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows does not say
        return "4g"
    return f"{max(2, min(8, memory // 2 // 2**30))}g"


def _cells(name: str, rows: list[Row], digits: int) -> tuple[str, ...]:
    """A line of the table: one query, or the sums of all."""

    def total(field: str) -> Any:
        return sum(getattr(r, field) for r in rows)

    spark, springbok = total("spark"), total("springbok")
    return (
        name,
        f"{spark:.{digits}f} s",
        f"{springbok:.{digits}f} s",
        f"{spark / springbok:.2f}x",
        f"{total('joins_changed')} of {total('joins')}",
        f"{total('filters_used')} of {total('filters_placed')}",
        f"{total('rows_removed'):,}",
        "equal" if all(r.equal for r in rows) else "DIFFERENT",
    )


def _figures(args: argparse.Namespace, version: str, rows: list[Row]) -> dict[str, Any]:
    """The table's figures, and where they were taken."""
    return {
        "command": f"springbok demo --scale {args.scale:g} --queries {args.queries} --runs {args.runs} "
        f"--master {args.master}",
        "machine": {"cores": os.cpu_count(), "architecture": platform.machine(), "driver_memory": args.memory},
        "versions": {"spark": version, "springbok": __version__, "python": platform.python_version()},
        "rows": [asdict(r) for r in rows],
    }
