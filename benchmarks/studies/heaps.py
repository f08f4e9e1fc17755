"""Ten TPC-DS queries as data grows and the heap shrinks, each scale and heap in a process of its own."""

from __future__ import annotations

import argparse
import statistics
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks import suites
from benchmarks.harness import formats, results, runner
from benchmarks.harness.fresh import fresh
from benchmarks.harness.results import Table

_ARMS = ("spark", "springbok")
# Large joins of facts, stars of every size, and a snowflake. Short ones come first, because they warm the JVM up.
_QUERIES = "q7,q46,q95,q93,q17,q25,q4,q64,q78,q72"
_HEAD = ["scale", "heap", "queries", "geomean", "lowest", "Spark s", "Springbok s", "Spark spills", "Springbok spills"]
_NAME = "heaps"

_Records = list[dict[str, Any]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which scales and heaps, and how often."""
    parser.add_argument("--scales", default="1,10,30")
    parser.add_argument("--heaps", default="2g,4g,8g", help="heaps of the driver, which runs the tasks as well")
    parser.add_argument("--queries", default=_QUERIES)
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each query in each arm, after a warm-up")


def run(args: argparse.Namespace) -> Table:
    """One row for each scale and heap. Queries that failed in an arm are named instead of the lowest gain.

    Earlier results stay, but for the queries that run now. Results are written after each query, because a scale and a
    heap can take an hour.
    """
    for scale, heap in product(args.scales.split(","), args.heaps.split(",")):
        e = runner.Experiment("tpcds", float(scale), "clustered", _ARMS, args.data, args.runs, 1, "parquet")
        fresh(_measure, args, heap, e, f"{scale} {heap}")
    return _table(_measured(args.out))


def _measure(args: argparse.Namespace, heap: str, e: runner.Experiment, key: str) -> None:
    spark = runner.session(args.master, heap, formats.settings(e.form, e.source))
    try:
        runner.prepare(spark, e)
        for record in runner.measure(spark, e, suites.chosen("tpcds", args.queries)):
            print(key, runner.line(record, _ARMS), flush=True)
            _keep(args, key, record)
    finally:
        spark.stop()


def _keep(args: argparse.Namespace, key: str, record: dict[str, Any]) -> None:
    runs = _measured(args.out)
    runs[key] = results.merged(runs.get(key, []), [record])
    results.save_table(_table(runs), args)


def _measured(out: Path) -> dict[str, _Records]:
    path = out / f"{_NAME}.json"
    found: dict[str, _Records] = results.read(path)["runs"] if path.exists() else {}
    return found


def _table(runs: dict[str, _Records]) -> Table:
    ordered = sorted(runs, key=lambda key: [float(part.rstrip("g")) for part in key.split()])
    rows: list[list[Any]] = [_HEAD, *([*key.split(), *_cells(runs[key])] for key in ordered)]
    details = {"runs": {key: runs[key] for key in ordered}}
    return Table(_NAME, "Growing data and shrinking heaps", rows, details, memory="by row")


def _cells(records: _Records) -> list[str]:
    bad = [f"{r['query']} failed" for r in records if any("error" in a for a in r["arms"].values())]
    bad += [f"{r['query']} differs" for r in records if r["answers"] == "DIFFERENT"]
    both = [[r["arms"][a] for a in _ARMS] for r in records if all("seconds" in r["arms"].get(a, {}) for a in _ARMS)]
    ratios = [base["seconds"] / arm["seconds"] for base, arm in both]
    return [
        str(len(both)),
        f"{statistics.geometric_mean(ratios):.2f}x" if ratios else "-",
        ", ".join(bad) or f"{min(ratios):.2f}x",
        *(f"{sum(arms[i]['seconds'] for arms in both):.0f}" for i in (0, 1)),
        *(f"{sum(arms[i]['spill_bytes'] for arms in both) / 2**30:.1f} GB" for i in (0, 1)),
    ]
