"""One run of one query: its answer, its time, and what Spark's status store says about its stages."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from springbok.comparison import answer
from springbok.reports import Report, report

from benchmarks.harness import jvm
from benchmarks.harness.arms import Arm, applied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Figures:
    """What a run cost.

    `seconds` is wall time. `planning_ms` is analysis, optimization and planning before execution. `rules_ms` is
    the time in Springbok's own rules, re-planning included. `driver_ms` is wall time in which no stage ran.
    `cpu_s` is the CPU time of all tasks, `run_s` the time that they held a core, and `jit_ms` the time of the
    JVM's compilers. `peak_memory` is the largest execution memory of a stage, summed over its tasks.
    """

    seconds: float
    planning_ms: float
    rules_ms: float
    driver_ms: float
    cpu_s: float
    run_s: float
    jit_ms: float
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
    """A run's answer, figures and report."""

    rows: list[tuple[str, ...]]
    figures: Figures
    report: Report
    rules: dict[str, float]
    """Time in ms in each of Springbok's rules."""


def run(spark: SparkSession, sql: str) -> Run:
    """Run a query from its text to its last row."""
    return staged(spark, sql)[0]


def staged(spark: SparkSession, sql: str) -> tuple[Run, list[Any], float]:
    """A run, its stages from Spark's status store, and when it began in ms since the epoch."""
    before = _newest_stage(spark)
    spark._jvm.System.gc()  # type: ignore[union-attr]
    rules, jit = rules_ms(spark), _jit_ms(spark)
    begun = time.time() * 1000
    start = time.perf_counter()
    df = spark.sql(sql)
    rows = df.collect()
    seconds = time.perf_counter() - start
    jit_ms = _jit_ms(spark) - jit
    rules = {rule: ms - rules.get(rule, 0.0) for rule, ms in rules_ms(spark).items()}
    stages = _stages(spark, before)
    planning_ms = _planning_ms(df._jdf.queryExecution())
    figures = _figures(seconds, planning_ms, sum(rules.values()), jit_ms, stages)
    ran = [s for s in stages if _ran(s)]
    return Run(answer(rows), figures, report(df), rules), ran, begun


def planning(spark: SparkSession, arm: Arm, sql: str) -> tuple[float, float]:
    """Milliseconds from a query's text to its first physical plan, and how many of them Springbok's rules took."""
    with applied(spark, arm):
        rules = sum(rules_ms(spark).values())
        start = time.perf_counter()
        spark.sql(sql)._jdf.queryExecution().executedPlan()
        took = (time.perf_counter() - start) * 1000
        return took, sum(rules_ms(spark).values()) - rules


def rules_ms(spark: SparkSession) -> dict[str, float]:
    """Milliseconds in each of Springbok's rules since the JVM started."""
    return _ms(jvm.gateway(spark).spentNanosByRule())


def rules_cpu_ms(spark: SparkSession) -> dict[str, float]:
    """The same, of the time on a core alone: on two cores, rules wait for the tasks that run beside them."""
    return _ms(jvm.gateway(spark).cpuNanosByRule())


def _ms(nanos: Any) -> dict[str, float]:
    return {str(rule): int(ns) / 1e6 for rule, ns in dict(nanos).items()}


def _jit_ms(spark: SparkSession) -> float:
    java: Any = spark._jvm.java  # type: ignore[union-attr]
    return float(java.lang.management.ManagementFactory.getCompilationMXBean().getTotalCompilationTime())


def _figures(seconds: float, planning_ms: float, rules: float, jit_ms: float, stages: list[Any]) -> Figures:
    spans = [(s.submissionTime().get().getTime(), s.completionTime().get().getTime()) for s in stages if _ran(s)]

    def total(metric: str) -> int:
        return sum(int(getattr(s, metric)()) for s in stages)

    return Figures(
        seconds=seconds,
        planning_ms=planning_ms,
        rules_ms=rules,
        driver_ms=max(0.0, seconds * 1000 - _covered(spans)),
        cpu_s=total("executorCpuTime") / 1e9,
        run_s=total("executorRunTime") / 1e3,
        jit_ms=jit_ms,
        rows_read=total("inputRecords"),
        bytes_read=total("inputBytes"),
        shuffle_rows=total("shuffleWriteRecords"),
        shuffle_bytes=total("shuffleWriteBytes"),
        spill_bytes=total("diskBytesSpilled"),
        peak_memory=max((int(s.peakExecutionMemory()) for s in stages), default=0),
        stages=len(spans),
        tasks=total("numCompleteTasks"),
    )


def _ran(stage: Any) -> bool:
    return bool(stage.submissionTime().isDefined() and stage.completionTime().isDefined())


def _store_stages(spark: SparkSession) -> Any:
    """The stages in the status store, newest first, after all events have arrived there."""
    sc: Any = spark._jsc.sc()
    sc.listenerBus().waitUntilEmpty()
    java: Any = spark._jvm.java  # type: ignore[union-attr]
    doubles = java.lang.reflect.Array.newInstance(java.lang.Double.TYPE, 0)
    return sc.statusStore().stageList(None, False, False, doubles, java.util.ArrayList())


def _newest_stage(spark: SparkSession) -> int:
    stages = _store_stages(spark)
    return int(stages.head().stageId()) if stages.nonEmpty() else -1


def _stages(spark: SparkSession, after: int) -> list[Any]:
    found = []
    stages = _store_stages(spark).iterator()
    while stages.hasNext():
        stage = stages.next()
        if stage.stageId() <= after:
            break
        found.append(stage)
    return found


def _planning_ms(execution: Any) -> float:
    phases = execution.tracker().phases()
    names = ("analysis", "optimization", "planning")
    return sum(float(phases.apply(name).durationMs()) for name in names if phases.contains(name))


def _covered(spans: list[tuple[int, int]]) -> float:
    """Length of the union of intervals."""
    covered, end = 0.0, float("-inf")
    for a, b in sorted(spans):
        covered += max(0.0, b - max(a, end))
        end = max(end, b)
    return covered
