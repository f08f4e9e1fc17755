"""Ten TPC-DS queries as data grows and the heap shrinks, each scale and heap in a process of its own."""

from __future__ import annotations

import argparse
import statistics
from itertools import product
from typing import Any

from benchmarks import suites
from benchmarks.harness import formats, runner
from benchmarks.harness.fresh import fresh
from benchmarks.harness.results import Table

_ARMS = ("spark", "springbok")
# Large joins of facts, stars of every size, and a snowflake.
_QUERIES = "q4,q7,q17,q25,q46,q64,q72,q78,q93,q95"
_HEAD = ["scale", "heap", "queries", "geomean", "lowest", "Spark s", "Springbok s", "Spark spills", "Springbok spills"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which scales and heaps, and how often."""
    parser.add_argument("--scales", default="1,10,30")
    parser.add_argument("--heaps", default="2g,4g,8g", help="heaps of the driver, which runs the tasks as well")
    parser.add_argument("--queries", default=_QUERIES)
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each query in each arm, after a warm-up")


def run(args: argparse.Namespace) -> Table:
    """One row for each scale and heap. Queries that failed in an arm are named instead of the lowest gain."""
    rows: list[list[Any]] = [_HEAD]
    details: dict[str, Any] = {}
    for scale, heap in product(args.scales.split(","), args.heaps.split(",")):
        e = runner.Experiment("tpcds", float(scale), "clustered", _ARMS, args.data, args.runs, 1, "parquet")
        records = fresh(_records, args.master, heap, e, args.queries)
        details[f"{scale} {heap}"] = records
        rows.append([scale, heap, *_cells(records)])
        print(*rows[-1], sep="\t", flush=True)
    return Table("heaps", "Growing data and shrinking heaps", rows, {"runs": details})


def _records(master: str, heap: str, e: runner.Experiment, queries: str) -> list[dict[str, Any]]:
    spark = runner.session(master, heap, formats.settings(e.form, e.source))
    try:
        runner.prepare(spark, e)
        return list(runner.measure(spark, e, suites.chosen("tpcds", queries)))
    finally:
        spark.stop()


def _cells(records: list[dict[str, Any]]) -> list[str]:
    bad = [f"{r['query']} failed" for r in records if any("error" in a for a in r["arms"].values())]
    bad += [f"{r['query']} differs" for r in records if r["answers"] == "DIFFERENT"]
    both = [[r["arms"][a] for a in _ARMS] for r in records if all("seconds" in r["arms"].get(a, {}) for a in _ARMS)]
    ratios = [base["seconds"] / arm["seconds"] for base, arm in both]
    return [
        str(len(both)),
        f"{statistics.geometric_mean(ratios):.2f}x",
        ", ".join(bad) or f"{min(ratios):.2f}x",
        *(f"{sum(run['seconds'] for run in arm):.0f}" for arm in zip(*both, strict=True)),
        *(f"{sum(run['spill_bytes'] for run in arm) / 2**30:.1f} GB" for arm in zip(*both, strict=True)),
    ]
