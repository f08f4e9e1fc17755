"""DuckDB on the same files: for orientation, a system of another kind, with no more cores than Spark's tasks have."""

from __future__ import annotations

import re
import statistics
import time
from pathlib import Path
from typing import Any

from springbok.errors import SpringbokError

from benchmarks import data


def for_duckdb(sql: str) -> str:
    """A query of Spark's in DuckDB's words: its quotes; two of TPC-DS's names are words of its grammar."""
    return re.sub(r"\b(returns|at)\b", r'"\1"', sql).replace("`", '"')


def measure(source: Path, queries: dict[str, str], runs: int, threads: int) -> dict[str, Any]:
    """Seconds of each query's runs after one warm-up, to the last row, or the text of the error; and the version.

    Raises:
        SpringbokError: the data is not there.
    """
    if not source.is_dir():
        raise SpringbokError(f"There is no {source}: `make bench` makes a suite's data.")
    times: dict[str, list[float] | str] = {}
    with data.connect() as con:
        con.execute(f"SET threads = {threads}")
        for table in source.glob("*.parquet"):
            files = f"{table}/**/*.parquet" if table.is_dir() else table
            con.execute(f"CREATE VIEW {table.stem} AS FROM read_parquet('{files}')")
        for name, sql in queries.items():
            times[name] = _times(con, for_duckdb(sql), runs)
            print(f"{name:>6}", times[name], flush=True)
        version = con.execute("SELECT version()").fetchone()[0]
    return {"version": version, "threads": threads, "queries": times}


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


def table(measured: dict[str, Any], spark: list[dict[str, Any]]) -> list[list[Any]]:
    """Its total, and how each of Spark's arms compares over the queries that both ran."""
    mine = {q: statistics.median(t) for q, t in measured["queries"].items() if isinstance(t, list)}
    rows: list[list[Any]] = [["", "queries", "total s", "DuckDB's total s", "DuckDB is faster by, geomean"]]
    for arm in dict.fromkeys(a for q in spark for a in q["arms"]):
        ran = [(q["query"], q["arms"].get(arm, {})) for q in spark if q["query"] in mine]
        both = {q: figures["seconds"] for q, figures in ran if "seconds" in figures}
        ratio = statistics.geometric_mean(s / mine[q] for q, s in both.items())
        total = sum(mine[q] for q in both)
        rows.append([arm, len(both), f"{sum(both.values()):.1f}", f"{total:.1f}", f"{ratio:.2f}x"])
    return rows
