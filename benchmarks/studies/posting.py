"""What reports cost: TPC-DS with and without reports of finished queries, for the session, the event log and EXPLAIN.

All runs are with Springbok. A pass runs every query once, in one arm, until the last report is made: reports are made
while the next query runs, and are part of what is measured. The arms take turns, and each pass is compared with the
pass of the first arm in the same round.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from springbok.session import temporarily

from benchmarks import suites
from benchmarks.harness import data, runner
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NONE = {"spark.springbok.report.retained": "0", "spark.springbok.report.events": "false"}
# Without the section in EXPLAIN's text, which Spark makes for its own events.
_NO_SECTION = {"spark.sql.extendedExplainProviders": ""}
ARMS = {"no reports": _NONE, "no reports, no section": _NONE | _NO_SECTION, "reports": {}}
_HEAD = ["arm", "seconds a pass", "ratio", "lowest", "highest", "ms added a query, median", "p95"]
Pass = dict[str, float]
"""Seconds of each query, and of the whole pass under the empty name."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which queries, on which data, and how often."""
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--layout", choices=data.LAYOUTS, default="clustered")
    parser.add_argument("--queries", default="all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warmups", type=int, default=2, help="rounds before them that are not counted")


def run(args: argparse.Namespace) -> Table:
    """One row an arm."""
    with tempfile.TemporaryDirectory() as log:
        # Without a UI and an event log nobody is sent a report.
        logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{log}"}
        spark = runner.session(args.master, args.memory, logged)
        runner.prepare(spark, runner.Experiment("tpcds", args.scale, args.layout, ("springbok",), args.data))
        passes = _measured(spark, suites.chosen("tpcds", args.queries), args.warmups, args.rounds)
        spark.stop()
    title = f"What reports cost, TPC-DS at scale {args.scale:g}"
    return Table("posting", title, table(passes), {"passes": passes})


def _measured(spark: SparkSession, queries: Mapping[str, str], warmups: int, rounds: int) -> dict[str, list[Pass]]:
    """The passes of each arm, by rounds."""
    passes: dict[str, list[Pass]] = {arm: [] for arm in ARMS}
    arms = list(ARMS)
    for n in range(-warmups, rounds):
        shift = n % len(arms)
        for arm in arms[shift:] + arms[:shift]:
            with temporarily(spark, ARMS[arm]):
                took = _pass(spark, queries)
            if n >= 0:
                passes[arm].append(took)
                print(arm, f"{took['']:.2f} s", flush=True)
    return passes


def _pass(spark: SparkSession, queries: Mapping[str, str]) -> Pass:
    spark._jvm.System.gc()  # type: ignore[union-attr]
    took: Pass = {}
    start = time.perf_counter()
    for name, sql in queries.items():
        begun = time.perf_counter()
        spark.sql(sql).collect()
        took[name] = round(time.perf_counter() - begun, 4)
    bus: Any = spark._jsc.sc().listenerBus()
    bus.waitUntilEmpty()
    took[""] = round(time.perf_counter() - start, 4)
    return took


def table(passes: Mapping[str, Sequence[Pass]]) -> list[list[Any]]:
    """Each arm against the first: the median ratio of its passes with the lowest and the highest, and ms a query."""
    base = next(iter(passes.values()))
    rows: list[list[Any]] = [_HEAD]
    for arm, own in passes.items():
        ratios = sorted(p[""] / b[""] for p, b in zip(own, base, strict=True))
        added = sorted(
            1000 * statistics.median(p[q] - b[q] for p, b in zip(own, base, strict=True)) for q in base[0] if q
        )
        figures = [statistics.median(p[""] for p in own), statistics.median(ratios), ratios[0], ratios[-1]]
        per_query = (statistics.median(added), added[int(len(added) * 0.95)])
        rows.append([arm, f"{figures[0]:.2f}", *(f"{f:.3f}x" for f in figures[1:]), *(f"{f:.1f}" for f in per_query)])
    return rows
