"""DuckDB on the files of a suite that `run` has measured: a different kind of system, for orientation."""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

from springbok.errors import SpringbokError

from benchmarks import suites
from benchmarks.harness import data, results
from benchmarks.harness.results import Table


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which suite, and how often."""
    parser.add_argument("suite", choices=suites.SUITES)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--layout", choices=data.LAYOUTS, default="plain")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each query")
    parser.add_argument("--threads", type=int, default=2)


def run(args: argparse.Namespace) -> Table:
    """DuckDB's times beside those of the arms.

    Raises:
        SpringbokError: the suite has not been run on these files.
    """
    name = results.name_of(args.suite, args.scale, args.layout)
    measured = args.out / f"{name}.json"
    if not measured.exists():
        raise SpringbokError(f"There is no {measured} to compare with: `make bench` makes it.")
    source = data.place(args.data, args.suite, args.scale, args.layout)
    times, version = measure(source, suites.queries(args.suite), args.runs, args.threads)
    title = f"DuckDB {version} on the files of {name}, {args.threads} threads"
    details = {"version": version, "threads": args.threads, "queries": times}
    return Table(f"{name}-duckdb", title, table(times, results.read(measured)["queries"]), details)


def measure(source: Path, queries: dict[str, str], runs: int, threads: int) -> tuple[dict[str, list[float] | str], str]:
    """Seconds of each query's runs after one warm-up, or the text of the error; and DuckDB's version.

    Raises:
        SpringbokError: there is no data.
    """
    if not source.is_dir():
        raise SpringbokError(f"There is no {source}: `make bench` makes a suite's data.")
    times: dict[str, list[float] | str] = {}
    with data.connect() as con:
        con.execute(f"SET threads = {threads}")
        for file in source.glob("*.parquet"):
            files = f"{file}/**/*.parquet" if file.is_dir() else file
            con.execute(f"CREATE VIEW {file.stem} AS FROM read_parquet('{files}')")
        for name, sql in queries.items():
            times[name] = _times(con, suites.for_duckdb(sql), runs)
            print(f"{name:>6}", times[name], flush=True)
        version = con.execute("SELECT version()").fetchone()[0]
    return times, version


def _times(con: Any, sql: str, runs: int) -> list[float] | str:
    import duckdb

    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        try:
            con.execute(sql).fetchall()
        except duckdb.Error as e:
            return str(e).splitlines()[0][:200]
        times.append(round(time.perf_counter() - start, 4))
    return times[1:]


def table(times: dict[str, list[float] | str], spark: list[dict[str, Any]]) -> list[list[Any]]:
    """One row an arm of Spark, over the queries that both ran."""
    duckdb = {q: statistics.median(t) for q, t in times.items() if isinstance(t, list)}
    rows: list[list[Any]] = [["arm", "queries", "total s", "DuckDB's total s", "DuckDB is faster by (geomean)"]]
    for arm in dict.fromkeys(a for q in spark for a in q["arms"]):
        ran = [(q["query"], q["arms"].get(arm, {})) for q in spark if q["query"] in duckdb]
        both = {q: figures["seconds"] for q, figures in ran if "seconds" in figures}
        ratio = statistics.geometric_mean(s / duckdb[q] for q, s in both.items())
        total = sum(duckdb[q] for q in both)
        rows.append([arm, len(both), f"{sum(both.values()):.1f}", f"{total:.1f}", f"{ratio:.2f}x"])
    return rows
