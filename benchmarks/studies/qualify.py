"""What `springbok qualify` expects of a suite by Spark's event log, against what was measured with Springbok.

Both arms run by turns in one session, which writes one event log. Only the executions without Springbok count for
`qualify`. A ratio says how many times faster Springbok is.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.eventlog.files import logs
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
Measured = dict[str, dict[str, list[tuple[float, float]]]]
"""By query and arm, the wall time and the CPU time of all tasks of each run, in seconds."""


@dataclass(frozen=True)
class Ratios:
    """How many times faster a query is: measured by wall time (all runs and each) and by CPU time, and expected."""

    wall: float
    each: list[float]
    cpu: float
    least: float
    most: float

    @property
    def middle(self) -> float:
        """The middle of what is expected."""
        return math.sqrt(self.least * self.most)


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
        return table(name_of(args.suite, args.scale, args.layout), _measured(args, folder), folder)


def table(suite: str, measured: Measured, log: Path) -> Table:
    """How well the middle of the range ranks the queries, how far it is off, and what is promised without a gain.

    The runs' own column says how well the first and the last run rank each other: nothing can rank them better.
    """
    ratios = compared(measured, log)
    found = list(ratios.values())
    wall, middle = [r.wall for r in found], [r.middle for r in found]
    ranks = (
        spearman(middle, wall),
        spearman(middle, [r.cpu for r in found]),
        spearman([r.each[0] for r in found], [r.each[-1] for r in found]),
    )
    errors = off_by(middle, wall)
    figures = [f"{rank:.2f}" for rank in ranks] + [f"{e:.2f}x" for e in (statistics.median(errors), _p90(errors))]
    within = sum(r.least <= r.wall <= r.most for r in found) / len(found)
    broken = sum(r.wall < _NO_GAIN and r.least > _PROMISE for r in found)
    head = ["suite", "queries", "Spearman, wall time", "CPU time", "of the runs", "error, median", "p90"]
    rows: list[list[Any]] = [
        [*head, "within the range", "promised without a gain"],
        [suite, len(found), *figures, f"{within:.0%}", broken],
    ]
    details = {"ratios": {query: asdict(r) for query, r in ratios.items()}, "measured": measured}
    return Table(f"qualify-{suite}", f"Expected and measured ratios of {suite}", rows, details)


def compared(measured: Measured, log: Path) -> dict[str, Ratios]:
    """The ratios of each query; of what is expected the median of the runs, and 1 for a query without joins."""
    expected: dict[str, list[tuple[float, float]]] = {query: [] for query in measured}
    for found in (f for total in qualified(logs([log]), 10_000) for f in total.largest):
        query, _, arm = found.description.partition(" ")
        if arm == _ARMS[0] and query in expected:
            expected[query].append(found.ratios)
    ratios = {}
    for query, ranges in expected.items():
        off, on = (measured[query][arm] for arm in _ARMS)
        if off and on:
            wall, cpu = (sum(a[i] for a in off) / sum(b[i] for b in on) for i in (0, 1))
            each = [round(a[0] / b[0], 3) for a, b in zip(off, on, strict=True)]
            least, most = (
                round(statistics.median(column), 3) for column in zip(*(ranges or [(1.0, 1.0)]), strict=True)
            )
            ratios[query] = Ratios(round(wall, 3), each, round(cpu, 3), least, most)
    return ratios


def _p90(ordered: Sequence[float]) -> float:
    return ordered[int(len(ordered) * 0.9)]


def off_by(expected: Sequence[float], measured: Sequence[float]) -> list[float]:
    """How many times each expected ratio is too high or too low, the best first."""
    return sorted(max(m / x, x / m) for m, x in zip(measured, expected, strict=True))


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """The correlation of the ranks."""
    return statistics.correlation(_ranks(a), _ranks(b))


def _ranks(values: Sequence[float]) -> list[float]:
    """Equal values have the mean of their ranks."""
    return [sum(v < x for v in values) + sum(v == x for v in values) / 2 for x in values]


def _measured(args: argparse.Namespace, log: Path) -> Measured:
    """Run each query in both arms by turns, after one run of each that is not counted."""
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": log.resolve().as_uri()}
    spark = runner.session(args.master, args.memory, settings)
    try:
        runner.prepare(spark, runner.Experiment(args.suite, args.scale, args.layout, _ARMS, args.data))
        found: Measured = {}
        for name, sql in suites.chosen(args.suite, args.queries).items():
            found[name] = {arm: [] for arm in _ARMS}
            for i in range(-1, args.runs):
                for arm in _ARMS if i % 2 else reversed(_ARMS):
                    took = _run(spark, f"{name} {arm}" if i >= 0 else "not counted", sql, arm)
                    found[name][arm] += [took] if i >= 0 else []
            print(name, found[name], flush=True)
        return found
    finally:
        spark.stop()


def _run(spark: SparkSession, description: str, sql: str, arm: str) -> tuple[float, float]:
    """Wall time and CPU time of a query in seconds. The description says in the event log which query it was."""
    context: Any = spark.sparkContext
    with runner.using(spark, ARMS[arm]):
        context.setJobDescription(description)
        try:
            figures = measure.run(spark, sql).figures
            return round(figures.seconds, 4), round(figures.cpu_s, 4)
        finally:
            context.setJobDescription(None)
