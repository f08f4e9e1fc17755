"""The executions of an event log, each as soon as it has ended: its plan, its metrics and its stages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

_EXTENSIONS = "org.apache.spark.sql.springbok.SpringbokExtensions"
_KIND = re.compile(rb'\{"Event":"(?:[\w.$]+\.)?(\w+)"')
# Most of a log are ends of tasks. Two numbers of each are needed, and not the rest.
_TASK = re.compile(rb'"Stage ID":(\d+).*"Task Metrics":\{.*?"Executor Run Time":(\d+)')


@dataclass
class Application:
    """What a log tells of its application; `damaged` are the lines that cannot be read."""

    name: str = ""
    id: str = ""
    spark: str = "unknown"
    damaged: int = 0
    unfinished: int = 0
    """Executions whose end is missing."""


@dataclass
class Stage:
    """A stage: the run time of its tasks in ms, its begin and end in ms since 1970, and the accumulators it changed."""

    tasks: int = 0
    run_ms: float = 0
    begin: float = 0
    end: float = 0
    changed: frozenset[int] = frozenset()


@dataclass
class Execution:
    """A SQL execution with the last plan that Spark has told, and values by accumulator; times in ms since 1970."""

    id: int
    description: str
    start: int
    conf: dict[str, str]
    plan: dict[str, Any]
    end: int = 0
    failed: bool = False
    streaming: bool = False
    metrics: dict[int, float] = field(default_factory=dict)
    stages: dict[int, Stage] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Wall time."""
        return (self.end - self.start) / 1000

    @property
    def springbok(self) -> bool:
        """Whether Springbok planned it."""
        on = self.conf.get("spark.springbok.enabled", "true").lower() == "true"
        return on and _EXTENSIONS in self.conf.get("spark.sql.extensions", "")

    @property
    def adaptive(self) -> bool:
        """Whether adaptive execution is on."""
        return self.conf.get("spark.sql.adaptive.enabled", "true").lower() == "true"


class Reader:
    """Reads the events of one application. Nothing is kept of an execution that has ended."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.application = Application()
        self._conf: dict[str, str] = {}
        self._running: dict[int, Execution] = {}
        self._by_stage: dict[int, Execution] = {}

    def read(self, lines: Iterable[bytes]) -> Iterator[Execution | str]:
        """Each execution when it has ended, and each report of Springbok as JSON."""
        for line in lines:
            kind = _KIND.match(line)
            try:
                if not kind:
                    self.application.damaged += 1
                elif kind[1] == b"SparkListenerTaskEnd":
                    self._task_end(line)
                elif (handle := _EVENTS.get(kind[1].decode())) and (found := handle(self, json.loads(line))):
                    yield found
            except (ValueError, KeyError, TypeError):
                self.application.damaged += 1
        self.application.unfinished = len(self._running)

    def _task_end(self, line: bytes) -> None:
        found = _TASK.search(line)
        if found and (execution := self._by_stage.get(int(found[1]))):
            execution.stages.setdefault(int(found[1]), Stage()).run_ms += int(found[2])

    def _told(self, e: dict[str, Any]) -> None:
        a = self.application
        a.name, a.id, a.spark = e.get("App Name", a.name), e.get("App ID") or a.id, e.get("Spark Version", a.spark)
        self._conf |= {k: str(v) for k, v in dict(e.get("Spark Properties", {})).items()}

    def _start(self, e: dict[str, Any]) -> None:
        number = e["executionId"]
        conf = self._conf | (e.get("modifiedConfigs") or {})
        self._running[number] = Execution(number, e["description"], e["time"], conf, e["sparkPlanInfo"])

    def _plan(self, e: dict[str, Any]) -> None:
        if execution := self._running.get(e["executionId"]):
            execution.plan = e["sparkPlanInfo"]

    def _metrics(self, e: dict[str, Any]) -> None:
        if execution := self._running.get(e["executionId"]):
            execution.metrics.update((int(i), float(value)) for i, value in e["accumUpdates"])

    def _job(self, e: dict[str, Any]) -> None:
        properties = e.get("Properties") or {}
        if execution := self._running.get(int(properties.get("spark.sql.execution.id") or -1)):
            execution.streaming = execution.streaming or "sql.streaming.queryId" in properties
            self._by_stage.update((stage, execution) for stage in e["Stage IDs"])

    def _stage(self, e: dict[str, Any]) -> None:
        info = e["Stage Info"]
        if execution := self._by_stage.get(info["Stage ID"]):
            stage = execution.stages.setdefault(info["Stage ID"], Stage())
            stage.tasks = info["Number of Tasks"]
            stage.begin, stage.end = info.get("Submission Time", 0), info.get("Completion Time", 0)
            values = {a["ID"]: float(a["Value"]) for a in info["Accumulables"] if a.get("Metadata") == "sql"}
            execution.metrics |= values
            stage.changed = frozenset(values)

    def _end(self, e: dict[str, Any]) -> Execution | None:
        if execution := self._running.pop(e["executionId"], None):
            self._by_stage = {s: x for s, x in self._by_stage.items() if x is not execution}
            execution.end, execution.failed = e["time"], bool(e.get("errorMessage"))
        return execution

    def _report(self, e: dict[str, Any]) -> str:
        return str(e["report"])


# The ends of stages have the values of all metrics that a plan names; SQLAdaptiveSQLMetricUpdates only announces some.
_EVENTS = {
    "SparkListenerLogStart": Reader._told,
    "SparkListenerEnvironmentUpdate": Reader._told,
    "SparkListenerApplicationStart": Reader._told,
    "SparkListenerJobStart": Reader._job,
    "SparkListenerStageCompleted": Reader._stage,
    "SparkListenerSQLExecutionStart": Reader._start,
    "SparkListenerSQLAdaptiveExecutionUpdate": Reader._plan,
    "SparkListenerDriverAccumUpdates": Reader._metrics,
    "SparkListenerSQLExecutionEnd": Reader._end,
    "SpringbokReportEvent": Reader._report,
}
