"""When each stage and each broadcast of a query ran: where a query spends its time in each arm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.harness import measure, runner
from benchmarks.harness.arms import ARMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BROADCAST = ("number of output rows", "data size", "time to collect", "time to build", "time to broadcast")


def lines(spark: SparkSession, e: runner.Experiment, queries: dict[str, str]) -> Iterator[str]:
    """Seconds, stages with start and end in ms, and broadcasts of each timed run; the report of each arm's last run."""
    for name, sql in queries.items():
        for i in range(-e.warmups, e.runs):
            for arm in e.arms:
                with runner.using(spark, ARMS[arm]):
                    run, stages, begun = measure.staged(spark, sql)
                if i < 0:
                    continue
                f = run.figures
                times = f"planning {f.planning_ms:.0f} ms, rules {f.rules_ms:.0f} ms, CPU {f.cpu_s:.1f} s"
                yield f"{name} {arm}: {f.seconds:.2f} s, {times}"
                if f.rules_ms > 0:
                    slowest = sorted(run.rules.items(), key=lambda r: -r[1])
                    yield "rules: " + ", ".join(f"{rule} {ms:.0f} ms" for rule, ms in slowest if ms >= 1)
                yield from sorted(_stage(s, begun) for s in stages)
                yield from _broadcasts(spark)
                if i == e.runs - 1:
                    yield str(run.report)


def _stage(stage: Any, zero: float) -> str:
    begin, end = (t.get().getTime() - zero for t in (stage.submissionTime(), stage.completionTime()))
    return (
        f"{begin:8.0f} to {end:7.0f}  stage {stage.stageId()}: {stage.numCompleteTasks()} tasks, "
        f"CPU {stage.executorCpuTime() / 1e9:.1f} s, "
        f"read {stage.inputRecords():,} rows {stage.inputBytes() / 1e6:,.0f} MB, "
        f"fetched {stage.shuffleReadRecords():,} rows {stage.shuffleReadBytes() / 1e6:,.0f} MB, "
        f"wrote {stage.shuffleWriteRecords():,} rows {stage.shuffleWriteBytes() / 1e6:,.0f} MB"
    )


def _broadcasts(spark: SparkSession) -> Iterator[str]:
    """The broadcasts of the last query, with the metrics that the Spark UI shows."""
    store: Any = spark._jsparkSession.sharedState().statusStore()
    last = store.executionsList().last().executionId()
    values = store.executionMetrics(last)
    nodes = store.planGraph(last).allNodes().iterator()
    while nodes.hasNext():
        node = nodes.next()
        if node.name() != "BroadcastExchange":
            continue
        metrics = node.metrics().iterator()
        shown = []
        while metrics.hasNext():
            metric = metrics.next()
            value = values.get(metric.accumulatorId())
            if metric.name() in _BROADCAST and value.isDefined():
                shown.append(f"{metric.name()} {' '.join(value.get().split())}")
        if shown:
            yield f"broadcast: {', '.join(shown)}"
