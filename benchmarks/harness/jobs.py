"""Jobs of several queries: each job runs in every arm by turns, and must answer the same in all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from springbok.errors import SpringbokError

from benchmarks.harness import measure
from benchmarks.harness.arms import Arm, applied
from benchmarks.harness.results import ratios

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = Callable[["SparkSession"], tuple[Any, int]]
"""Runs the queries. Returns the answer and the number of queries."""
HEAD = ["job", "queries", "arm", "seconds", "first arm / arm", "spread", "rules s", "rules / time", "on a core"]


@dataclass
class Runs:
    """What an arm did with a job."""

    queries: int = 0
    seconds: list[float] = field(default_factory=list)
    rules: list[float] = field(default_factory=list)
    rules_cpu: list[float] = field(default_factory=list)
    """The part of the rules' time on a core: on two cores, they wait for the tasks that run beside them."""


def measured(spark: SparkSession, name: str, job: Job, arms: dict[str, Arm], runs: int) -> dict[str, Runs]:
    """The runs of a job by arm, after one that is not timed. The order of the arms is turned around each time.

    Raises:
        SpringbokError: the answers of the arms differ.
    """
    found = {arm: Runs() for arm in arms}
    answers = {}
    for i in range(-1, runs):
        for arm in arms if i % 2 else reversed(arms):
            with applied(spark, arms[arm]):
                before, before_cpu = _rules_s(spark)
                start = time.perf_counter()
                answers[arm], found[arm].queries = job(spark)
                took = time.perf_counter() - start
                rules, cpu = _rules_s(spark)
                spark.catalog.clearCache()
            if i >= 0:
                found[arm].seconds.append(round(took, 3))
                found[arm].rules.append(rules - before)
                found[arm].rules_cpu.append(cpu - before_cpu)
    first = next(iter(answers.values()))
    if any(a != first for a in answers.values()):
        raise SpringbokError(f"The answers of {name} differ.")
    return found


def _rules_s(spark: SparkSession) -> tuple[float, float]:
    return sum(measure.rules_ms(spark).values()) / 1000, sum(measure.rules_cpu_ms(spark).values()) / 1000


def rows(name: str, runs: Mapping[str, Runs]) -> list[list[str]]:
    """A row an arm, which is printed as well. The ratio is the median of the ratios of the runs beside each other."""
    base = next(iter(runs.values())).seconds
    made = []
    for arm, r in runs.items():
        took, rules, cpu = (statistics.median(x) for x in (r.seconds, r.rules, r.rules_cpu))
        figures = [f"{took:.2f}", *ratios(base, r.seconds)]
        made.append([name, str(r.queries), arm, *figures, f"{rules:.2f}", f"{rules / took:.1%}", f"{cpu / took:.1%}"])
        print("  ".join(made[-1]), flush=True)
    return made
