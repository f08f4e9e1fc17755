"""What the studies of the driver's work share: planning one query without and with Springbok."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from benchmarks.harness import measure
from benchmarks.harness.arms import ARMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ["Spark ms", "Springbok ms", "added ms", "Springbok's rules ms"]
_ROUNDS = 5


def planning(spark: SparkSession, sql: str) -> list[str]:
    """The figures of `COLUMNS`: medians of five rounds after a warm-up."""
    times: dict[str, list[float]] = {"spark": [], "springbok": []}
    rules: list[float] = []
    for i in range(-1, _ROUNDS):
        for arm, into in times.items():
            took, in_rules = measure.planning(spark, ARMS[arm], sql)
            if i >= 0:
                into.append(took)
                rules += [in_rules] if arm == "springbok" else []
    off, on = (statistics.median(times[arm]) for arm in ("spark", "springbok"))
    return [f"{off:.0f}", f"{on:.0f}", f"{on - off:.0f}", f"{statistics.median(rules):.0f}"]
