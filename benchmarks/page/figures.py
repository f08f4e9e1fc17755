"""Comparisons of arms, computed from the JSON files of results."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import results

Record = dict[str, Any]
# A ratio below this is a loss that the page names.
LOSS = 0.97


@dataclass(frozen=True)
class Pair:
    """The figures of a query in two arms."""

    query: str
    base: Record
    arm: Record

    @property
    def ratio(self) -> float:
        """How many times faster the arm is."""
        return float(self.base["seconds"] / self.arm["seconds"])


@dataclass(frozen=True)
class Gain:
    """The gain of `springbok` over a suite, in geometric mean; None against an arm that was not measured."""

    label: str
    spark: float | None
    tuned: float | None


# The suites of the summary, on files that Spark wrote.
_SUMMARY = (
    ("TPC-H", "tpch-sf10-plain-parquet"),
    ("Star Schema Benchmark", "ssb-sf10-clustered-parquet"),
    ("TPC-DS, clustered by date", "tpcds-sf10-clustered-parquet"),
    ("TPC-DS, partitioned by date", "tpcds-sf10-partitioned-parquet"),
)


def pairs(queries: list[Record], base: str, arm: str) -> list[Pair]:
    """The queries that ran in both arms."""
    both = [Pair(q["query"], q["arms"].get(base, {}), q["arms"].get(arm, {})) for q in queries]
    return [p for p in both if "seconds" in p.base and "seconds" in p.arm]


def geomean(ratios: list[Pair]) -> float:
    """The geometric mean of the ratios."""
    return statistics.geometric_mean(p.ratio for p in ratios)


def less(ratios: list[Pair], metric: str) -> float | None:
    """How many times less of something all queries together took in the arm; None if they took nothing of it."""
    total = sum(p.arm[metric] for p in ratios)
    return float(sum(p.base[metric] for p in ratios) / total) if total else None


def median_and_p95(ratios: list[Pair], metric: str) -> tuple[float, float]:
    """The median and the 95th percentile of a metric in the arm."""
    values = sorted(p.arm[metric] for p in ratios)
    return statistics.median(values), values[math.ceil(0.95 * len(values)) - 1]


def gains(folder: Path) -> list[Gain]:
    """The summary, as far as the folder has the files."""
    files = [(label, folder / f"{name}.json") for label, name in _SUMMARY]
    found = [Gain(label, _gain(path, "spark"), _gain(path, "tuned")) for label, path in files]
    return [g for g in found if g.spark or g.tuned]


def _gain(path: Path, base: str) -> float | None:
    measured = pairs(results.read(path)["queries"], base, "springbok") if path.exists() else []
    return geomean(measured) if measured else None


def slowest_order(queries: list[Record], arm: str) -> dict[str, float]:
    """The time of the slowest join order of each query divided by the time of the fastest."""
    times: dict[str, list[float]] = {}
    for q in queries:
        if "seconds" in q["arms"].get(arm, {}):
            times.setdefault(q["query"].split("-")[0], []).append(q["arms"][arm]["seconds"])
    return {q: max(t) / min(t) for q, t in times.items()}
