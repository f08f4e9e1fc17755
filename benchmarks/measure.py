"""One run of one query: its answer, its time, and what Spark's status store knows about its stages."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from springbok.comparison import answer
from springbok.reports import Report, report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Figures:
    """What a run cost.

    `seconds` is wall time; `planning_ms` analysis, optimization and planning before execution; `rules_ms` the time in
    Springbok's own rules, re-planning included; `driver_ms` wall time in which no stage ran; `cpu_s` CPU time of
    all tasks; `peak_memory` the largest execution memory of a stage, summed over its tasks.
    """

    seconds: float
    planning_ms: float
    rules_ms: float
    driver_ms: float
    cpu_s: float
    rows_read: int
    bytes_read: int
    shuffle_rows: int
    shuffle_bytes: int
    spill_bytes: int
    peak_memory: int
    stages: int
    tasks: int


@dataclass(frozen=True)
class Run:
    """One run's answer, figures and report."""

    rows: list[tuple[str, ...]]
    figures: Figures
    report: Report
    rules: dict[str, float]
    """Time in ms in each of Springbok's rules."""


def run(spark: SparkSession, sql: str) -> Run:
    """Run a query to its last row, from its text."""
    return staged(spark, sql)[0]


def staged(spark: SparkSession, sql: str) -> tuple[Run, list[Any], float]:
    """The same with the stages that ran, as Spark's status store has them, and when it began, in ms of the epoch."""
    sc: Any = spark._jsc.sc()
    guarded: Any = spark._jvm.org.apache.spark.sql.springbok.Guarded  # type: ignore[union-attr]
    before = _newest_stage(sc)
    spark._jvm.System.gc()  # type: ignore[union-attr]
    rules = _rules(guarded)
    begun = time.time() * 1000
    start = time.perf_counter()
    df = spark.sql(sql)
    rows = df.collect()
    seconds = time.perf_counter() - start
    rules = {rule: ms - rules.get(rule, 0.0) for rule, ms in _rules(guarded).items()}
    stages = _stages(sc, before)
    ran = [s for s in stages if _ran(s)]
    spans = [(s.submissionTime().get().getTime(), s.completionTime().get().getTime()) for s in ran]

    def total(metric: str) -> int:
        return sum(int(getattr(s, metric)()) for s in stages)

    figures = Figures(
        seconds=seconds,
        planning_ms=_planning_ms(df._jdf.queryExecution()),
        rules_ms=sum(rules.values()),
        driver_ms=max(0.0, seconds * 1000 - _covered(spans)),
        cpu_s=total("executorCpuTime") / 1e9,
        rows_read=total("inputRecords"),
        bytes_read=total("inputBytes"),
        shuffle_rows=total("shuffleWriteRecords"),
        shuffle_bytes=total("shuffleWriteBytes"),
        spill_bytes=total("diskBytesSpilled"),
        peak_memory=max((int(s.peakExecutionMemory()) for s in stages), default=0),
        stages=len(spans),
        tasks=total("numCompleteTasks"),
    )
    return Run(answer(rows), figures, report(df), rules), ran, begun


def _rules(guarded: Any) -> dict[str, float]:
    return {str(rule): int(ns) / 1e6 for rule, ns in dict(guarded.spentNanosByRule()).items()}


def _ran(stage: Any) -> bool:
    return bool(stage.submissionTime().isDefined() and stage.completionTime().isDefined())


def _store_stages(sc: Any) -> Any:
    """Stages that the status store keeps, newest first, once every event has arrived there."""
    sc.listenerBus().waitUntilEmpty()
    jvm = _jvm()
    doubles = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Double.TYPE, 0)
    return sc.statusStore().stageList(None, False, False, doubles, jvm.java.util.ArrayList())


def _jvm() -> Any:
    from pyspark import SparkContext

    return SparkContext._jvm


def _newest_stage(sc: Any) -> int:
    stages = _store_stages(sc)
    return int(stages.head().stageId()) if stages.nonEmpty() else -1


def _stages(sc: Any, after: int) -> list[Any]:
    found = []
    stages = _store_stages(sc).iterator()
    while stages.hasNext():
        stage = stages.next()
        if stage.stageId() <= after:
            break
        found.append(stage)
    return found


def _planning_ms(execution: Any) -> float:
    phases = execution.tracker().phases()
    total = 0.0
    for name in ("analysis", "optimization", "planning"):
        if phases.contains(name):
            total += phases.apply(name).durationMs()
    return total


def _covered(spans: list[tuple[int, int]]) -> float:
    """Length of the union of intervals."""
    covered, end = 0.0, float("-inf")
    for a, b in sorted(spans):
        covered += max(0.0, b - max(a, end))
        end = max(end, b)
    return covered
