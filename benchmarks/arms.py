"""The arms: what a session is set to before a query runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
# The order of joins alone, as it is not on by default.
_ORDER_ONLY = {
    "spark.springbok.reorder.enabled": "true",
    "spark.springbok.join.enabled": "false",
    "spark.springbok.runtimeFilter.mode": "OFF",
}


@dataclass(frozen=True)
class Arm:
    """Settings of a session, and whether its tables have been analyzed."""

    name: str
    springbok: bool
    tuned: bool = False
    settings: dict[str, str] = field(default_factory=dict)

    def conf(self) -> dict[str, str]:
        """Every setting that the arm makes."""
        base = {
            "spark.springbok.enabled": str(self.springbok).lower(),
            # Springbok sets it for the whole session, which the arms share.
            "spark.sql.codegen.useIdInClassName": str(not self.springbok).lower(),
        }
        return base | (_TUNED if self.tuned else {}) | self.settings


ARMS = {
    a.name: a
    for a in (
        Arm("S", springbok=False),
        Arm("T", springbok=False, tuned=True),
        Arm("B", springbok=True),
        Arm("B+T", springbok=True, tuned=True),
        Arm("B-strategy", springbok=True, settings={"spark.springbok.runtimeFilter.mode": "OFF"}),
        Arm("B-filters", springbok=True, settings={"spark.springbok.join.enabled": "false"}),
        Arm("B-local", springbok=True, settings={"spark.springbok.runtimeFilter.mode": "LOCAL"}),
        Arm("B-single", springbok=True, settings={"spark.springbok.runtimeFilter.maxNumber": "1"}),
        Arm("B-order", springbok=True, settings=_ORDER_ONLY),
        Arm("B+order", springbok=True, settings={"spark.springbok.reorder.enabled": "true"}),
    )
}


@contextmanager
def applied(spark: SparkSession, arm: Arm) -> Iterator[None]:
    """Within the block the session is the arm's."""
    before = {key: spark.conf.get(key, None) for key in arm.conf()}
    for key, value in arm.conf().items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
