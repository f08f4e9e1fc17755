"""Runs queries in every arm by turns, compares their answers and keeps their figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.reports import Report
from springbok.session import local_session

from benchmarks.harness import data, formats, results
from benchmarks.harness.arms import ARMS, Arm, applied
from benchmarks.harness.measure import Figures, Run, run
from benchmarks.suites import without_limit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Settings of every arm. Spark counts the bytes that Parquet reads only without vectored reads.
_CONF = {
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    "spark.ui.retainedStages": "2000",
    "spark.ui.retainedTasks": "2000",
}
_ANALYZED = "analyzed"


@dataclass(frozen=True)
class Experiment:
    """What is run, and how."""

    suite: str
    scale: float
    layout: str
    arms: tuple[str, ...]
    root: Path
    runs: int = 1
    warmups: int = 0
    form: str = "files"

    @property
    def source(self) -> Path:
        """The folder of the layout's Parquet files."""
        return data.place(self.root, self.suite, self.scale, self.layout)

    @property
    def name(self) -> str:
        """The name of its results."""
        return results.name_of(self.suite, self.scale, self.layout) + ("" if self.form == "files" else f"-{self.form}")


def session(master: str, memory: str, settings: dict[str, str] | None = None) -> SparkSession:
    """A session with Springbok in it, as a user makes one."""
    return local_session(master, memory, "springbok-benchmarks", _CONF | (settings or {}))


def prepare(spark: SparkSession, e: Experiment) -> None:
    """Make the data, and its tables with and without statistics as the arms need them."""
    source = data.folder(spark, e.root, e.suite, e.scale, e.layout)
    for database in sorted({database_of(ARMS[a]) for a in e.arms}):
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        spark.sql(f"USE {database}")
        formats.create(spark, e.form, source)
        if database == _ANALYZED:
            for path in sorted(source.glob("*.parquet")):
                _analyze(spark, path, data.place(e.root, e.suite, e.scale, "plain") / path.name)


def _analyze(spark: SparkSession, path: Path, plain: Path) -> None:
    """Analyze a table; a partitioned table gets the statistics of the same rows in one file, which takes far less."""
    analyzed = "one_file" if path.is_dir() else path.stem
    if path.is_dir():
        spark.sql(f"CREATE TABLE {analyzed} USING parquet LOCATION '{plain.resolve()}'")
    spark.sql(f"ANALYZE TABLE `{analyzed}` COMPUTE STATISTICS FOR ALL COLUMNS")
    if not path.is_dir():
        return
    state: Any = spark._jsparkSession.sessionState()
    names = state.sqlParser()
    found = state.catalog().getTableMetadata(names.parseTableIdentifier(analyzed)).stats()
    state.catalog().alterTableStats(names.parseTableIdentifier(path.stem), found)
    spark.sql(f"DROP TABLE {analyzed}")


def measure(spark: SparkSession, e: Experiment, queries: dict[str, str]) -> Iterable[dict[str, Any]]:
    """One record a query, as soon as it is there; the record also says in which arms the query failed."""
    # Lets the JVM compile what all queries use: an arm with more code of its own would otherwise pay more for it.
    warm = list(queries.values())[:3] * 3
    for sql in warm:
        for name in e.arms:
            _attempt(spark, ARMS[name], sql)
    for i, (name, sql) in enumerate(queries.items()):
        yield _query(spark, e, name, sql, i)


def _query(spark: SparkSession, e: Experiment, name: str, sql: str, turn: int) -> dict[str, Any]:
    runs: dict[str, list[Run]] = {a: [] for a in e.arms}
    errors: dict[str, str] = {}
    for i in range(-e.warmups, e.runs):
        shift = (i + turn) % len(e.arms)
        for a in e.arms[shift:] + e.arms[:shift]:
            if a in errors:
                continue
            outcome = _attempt(spark, ARMS[a], sql)
            if isinstance(outcome, str):
                errors[a] = outcome
            elif i >= 0:
                runs[a].append(outcome)
    done = {a: r for a, r in runs.items() if r and a not in errors}
    answers = {a: r[-1].rows for a, r in done.items()}
    return {
        "query": name,
        "answers": _compare(spark, answers, sql),
        "rows": len(next(iter(answers.values()), [])),
        "arms": {a: _summary(r) for a, r in done.items()} | {a: {"error": text} for a, text in errors.items()},
    }


@contextmanager
def using(spark: SparkSession, arm: Arm) -> Iterator[None]:
    """Within the block the session has the arm's settings and reads the arm's tables."""
    with applied(spark, arm):
        spark.sql(f"USE {database_of(arm)}")
        yield


def _attempt(spark: SparkSession, arm: Arm, sql: str) -> Run | str:
    """The run, or the important lines of the error: the first line of a Java error says little."""
    with using(spark, arm):
        try:
            return run(spark, sql)
        except Exception as error:
            lines = [line.strip() for line in str(error).strip().splitlines()]
            told = [line for i, line in enumerate(lines) if i < 2 or line.startswith("Caused by")]
            return f"{type(error).__name__}: {' | '.join(told)[:1000]}"


def _compare(spark: SparkSession, answers: dict[str, list[tuple[str, ...]]], sql: str) -> str:
    """equal, tied (only rows that tie at the last LIMIT differ), or DIFFERENT."""
    rows = list(answers.values())
    if all(r == rows[0] for r in rows):
        return "equal"
    unlimited = without_limit(sql)
    if unlimited:
        whole = [_attempt(spark, ARMS[a], unlimited) for a in answers]
        if all(isinstance(w, Run) and isinstance(whole[0], Run) and w.rows == whole[0].rows for w in whole):
            return "tied"
    return "DIFFERENT"


def _summary(runs: list[Run]) -> dict[str, Any]:
    """Medians of the runs, every wall time, and what the report of the last run says."""
    medians = {f.name: statistics.median(getattr(r.figures, f.name) for r in runs) for f in fields(Figures)}
    figures = {k: round(v, 4) for k, v in medians.items()}
    return figures | {"runs": [round(r.figures.seconds, 4) for r in runs], **_effect(runs[-1].report)}


def _effect(r: Report) -> dict[str, Any]:
    used = [f for f in r.filters if f.status == "used"]
    return {
        "strategies": r.strategies,
        "filters_placed": sum(1 for f in r.filters if f.id),
        "filters_used": len(used),
        "rows_tested": sum(f.rows_in or 0 for f in used),
        "rows_removed": sum(f.rows_removed or 0 for f in used),
        "files_read": sum(t.files_read or 0 for t in r.tables),
        "row_groups_removed": sum(f.row_groups_removed or 0 for f in used),
        "waited_ms": max((f.waited_ms or 0 for f in used), default=0),
        "failures": [f["rule"] for f in r.failures],
    }


def line(record: dict[str, Any], arms: Iterable[str]) -> str:
    """A query's record on one line: the seconds in each arm, and the ratio of each arm to the first."""
    parts = [f"{record['query']:>6}"]
    first: float | None = None
    for a in arms:
        figures = record["arms"].get(a, {"error": "not run"})
        if "error" in figures:
            parts.append(f"{a} FAILED {figures['error']}")
            continue
        seconds = figures["seconds"]
        first = first or seconds
        parts.append(f"{a} {seconds:.2f}" + (f" ({first / seconds:.2f}x)" if seconds != first else ""))
        if figures["filters_placed"]:
            parts.append(
                f"[rules {figures['rules_ms']:.0f} ms, {figures['filters_used']}/{figures['filters_placed']} filters, "
                f"-{figures['rows_removed']:,} of {figures['rows_tested']:,} rows]"
            )
    return "  ".join(parts) + ("" if record["answers"] == "equal" else f"  {record['answers']}")


def database_of(arm: Arm) -> str:
    """The database of an arm's tables: tables with statistics have their own."""
    return _ANALYZED if arm.analyzed else "default"


def header(e: Experiment) -> dict[str, Any]:
    """What was run."""
    return {
        "experiment": {
            "suite": e.suite,
            "scale": e.scale,
            "layout": e.layout,
            "runs": e.runs,
            "warmups": e.warmups,
            "format": e.form,
        },
        "arms": {a: ARMS[a].conf() for a in e.arms},
    }
