"""The arms of a benchmark: the settings that a session has while a query runs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from springbok.session import temporarily

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TUNED = {
    "spark.sql.cbo.enabled": "true",
    "spark.sql.cbo.joinReorder.enabled": "true",
    "spark.sql.cbo.planStats.enabled": "true",
    "spark.sql.statistics.histogram.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "100MB",
    "spark.sql.join.preferSortMergeJoin": "false",
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "256MB",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "200MB",
}
_NO_FILTERS = {"spark.springbok.runtimeFilter.mode": "OFF"}
_NO_STRATEGIES = {"spark.springbok.join.enabled": "false"}
_FIXED = {"spark.springbok.reorder.enabled": "false"}

_PARTS = {
    "strategies": _NO_STRATEGIES,
    "filters": _NO_FILTERS,
    "conjunct-order": {"spark.springbok.conjunct.enabled": "false"},
    "eager-aggregation": {"spark.springbok.aggregate.belowJoins": "false"},
    "footers": {"spark.springbok.stats.footers.enabled": "false"},
    "dictionaries": {"spark.springbok.stats.dictionaries.enabled": "false"},
    "waiting": {"spark.springbok.runtimeFilter.wait": "NEVER"},
    "separate-groups": {"spark.springbok.runtimeFilter.separateGroups": "false"},
    "writer-choice": {"spark.springbok.exchange.chooseWriter": "false"},
    "budget": {"spark.springbok.planning.budget": "0"},
}
"""The settings that switch a part of Springbok off."""


@dataclass(frozen=True)
class Arm:
    """The settings of a session, and whether its tables have been analyzed."""

    name: str
    springbok: bool
    analyzed: bool = False
    settings: dict[str, str] = field(default_factory=dict)

    def conf(self) -> dict[str, str]:
        """Every setting of the arm."""
        base = {
            "spark.springbok.enabled": str(self.springbok).lower(),
            # Springbok sets it for the whole session, which the arms share.
            "spark.sql.codegen.useIdInClassName": str(not self.springbok).lower(),
        }
        return base | self.settings


ARMS = {
    a.name: a
    for a in (
        Arm("spark", springbok=False),
        Arm("tuned", springbok=False, analyzed=True, settings=_TUNED),
        Arm("springbok", springbok=True),
        Arm("springbok+tuned", springbok=True, analyzed=True, settings=_TUNED),
        Arm("fixed-order", springbok=True, settings=_FIXED),
        Arm("strategies-only", springbok=True, settings=_NO_FILTERS | _FIXED),
        Arm("filters-only", springbok=True, settings=_NO_STRATEGIES | _FIXED),
        Arm("local-filters", springbok=True, settings={"spark.springbok.runtimeFilter.mode": "LOCAL"}),
        Arm("one-filter", springbok=True, settings={"spark.springbok.runtimeFilter.maxNumber": "1"}),
        Arm("order-only", springbok=True, settings=_NO_STRATEGIES | _NO_FILTERS),
        *(Arm(f"without-{part}", springbok=True, settings=off) for part, off in _PARTS.items()),
    )
}


def applied(spark: SparkSession, arm: Arm) -> AbstractContextManager[None]:
    """Within the block the session has the arm's settings."""
    return temporarily(spark, arm.conf())
