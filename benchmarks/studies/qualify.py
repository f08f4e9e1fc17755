"""What `springbok qualify` expects of a suite by Spark's event log, against what was measured with Springbok.

Both arms run by turns in one session, which writes one event log. Only the executions without Springbok count for
`qualify`. A ratio says how many times faster Springbok is.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.eventlog.findings import qualified

from benchmarks import suites
from benchmarks.harness import data, measure, runner
from benchmarks.harness.arms import ARMS
from benchmarks.harness.results import Table, name_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ARMS = ("spark", "springbok")
# A query that gains less than this gains nothing, and more than this must not be promised to it.
_NO_GAIN, _PROMISE = 1.02, 1.2
Seconds = dict[str, dict[str, list[float]]]
"""The times of the runs, by query and arm."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which suite, how often, and where its event log stays."""
    parser.add_argument("--suite", choices=suites.SUITES, default="tpch")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--layout", choices=data.LAYOUTS, default="plain")
    parser.add_argument("--queries", default="all")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--log", type=Path, help="keep the event log in this folder")


def run(args: argparse.Namespace) -> Table:
    """A row for the suite, and the queries' ratios as details."""
    with tempfile.TemporaryDirectory() as made:
        folder = args.log or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        seconds = _measured(args, folder)
        ratios = compared(seconds, folder)
    suite = name_of(args.suite, args.scale, args.layout)
    title = f"Expected and measured ratios of {suite}"
    return Table(f"qualify-{suite}", title, table(suite, ratios), {"ratios": ratios, "seconds": seconds})


def compared(seconds: Seconds, log: Path) -> dict[str, tuple[float, float, float]]:
    """By query, the measured ratio, and the least and the most that is expected; medians of the runs."""
    expected: dict[str, list[tuple[float, float]]] = {query: [] for query in seconds}
    for found in (f for total in qualified([log], 10_000) for f in total.largest):
        query, _, arm = found.description.partition(" ")
        if arm == _ARMS[0] and query in expected:
            expected[query].append(found.ratios)
    return {
        query: (
            round(statistics.median(seconds[query]["spark"]) / statistics.median(seconds[query]["springbok"]), 3),
            *(round(statistics.median(column), 3) for column in zip(*ranges, strict=True)),
        )
        for query, ranges in expected.items()
        if ranges and all(seconds[query].values())
    }


def table(suite: str, ratios: dict[str, tuple[float, float, float]]) -> list[list[Any]]:
    """How well the middle of the range ranks the queries, how far it is off, and what is promised without a gain."""
    measured = [m for m, _, _ in ratios.values()]
    middle = [(low * high) ** 0.5 for _, low, high in ratios.values()]
    errors = sorted(max(m / x, x / m) for m, x in zip(measured, middle, strict=True))
    within = sum(low <= m <= high for m, low, high in ratios.values()) / len(ratios)
    broken = sum(m < _NO_GAIN and low > _PROMISE for m, low, _ in ratios.values())
    head = ["suite", "queries", "Spearman", "error, median", "p90", "within the range", "promised without a gain"]
    figures = [f"{spearman(measured, middle):.2f}", f"{statistics.median(errors):.2f}x"]
    return [head, [suite, len(ratios), *figures, f"{errors[int(len(errors) * 0.9)]:.2f}x", f"{within:.0%}", broken]]


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """The correlation of the ranks."""
    return statistics.correlation(_ranks(a), _ranks(b))


def _ranks(values: Sequence[float]) -> list[float]:
    """Equal values have the mean of their ranks."""
    return [sum(v < x for v in values) + sum(v == x for v in values) / 2 for x in values]


def _measured(args: argparse.Namespace, log: Path) -> Seconds:
    """Run each query in both arms by turns, after one run of each that is not counted."""
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": log.resolve().as_uri()}
    spark = runner.session(args.master, args.memory, settings)
    try:
        runner.prepare(spark, runner.Experiment(args.suite, args.scale, args.layout, _ARMS, args.data))
        found: Seconds = {}
        for name, sql in suites.chosen(args.suite, args.queries).items():
            found[name] = {arm: [] for arm in _ARMS}
            for i in range(-1, args.runs):
                for arm in _ARMS if i % 2 else reversed(_ARMS):
                    took = _seconds(spark, name, sql, arm, counted=i >= 0)
                    if i >= 0:
                        found[name][arm].append(round(took, 4))
            print(name, found[name], flush=True)
        return found
    finally:
        spark.stop()


def _seconds(spark: SparkSession, name: str, sql: str, arm: str, *, counted: bool) -> float:
    """Run a query once. The description says in the event log which query it was."""
    context: Any = spark.sparkContext
    with runner.using(spark, ARMS[arm]):
        context.setJobDescription(f"{name} {arm}" if counted else "warm-up")
        try:
            return measure.run(spark, sql).figures.seconds
        finally:
            context.setJobDescription(None)
