"""Whether Springbok works in a running session. In `springbok`, `doctor` is the function."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from springbok import _jvm, _server, markup
from springbok.checks import size
from springbok.errors import SpringbokError
from springbok.jar import Spark
from springbok.model import ReportData, Resources
from springbok.reports import report
from springbok.session import runs_tasks_in_driver
from springbok.settings import known, size_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JOIN = "SELECT count(*) FROM range(1000) a JOIN range(10) b ON a.id = b.id"
# Tasks run a class of the jar: it says why the jar stays off, or null.
_IN_TASKS = (
    "SELECT reflect('org.apache.spark.sql.springbok.catalyst.RunningSpark', 'refusal') FROM range(0, {0}, 1, {0})"
)
# Settings that work against Springbok: the value that does, and its effect.
_CONFLICTS = {
    "spark.sql.adaptive.enabled": ("false", "no runtime filters are made, and no decision is revised at run time"),
    "spark.springbok.join.enabled": ("false", "join strategies are Spark's own"),
    "spark.springbok.runtimeFilter.mode": ("OFF", "no runtime filters are made"),
    "spark.springbok.report.events": ("false", "the Spark UI and the History Server show no reports"),
}
_EVALUATOR = "spark.sql.adaptive.customCostEvaluatorClass"
_PROVIDERS = "spark.sql.extendedExplainProviders"
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_LIMIT = "spark.springbok.join.broadcastBytesLimit"
_EXECUTORS = "spark.springbok.cluster.executors"
_KEEPS_SHUFFLES = ("spark.dynamicAllocation.shuffleTracking.enabled", "spark.shuffle.service.enabled")
# A server of Spark Connect does not tell its columnar rules: these have some.
_ENGINES = re.compile(r"[\w.$]*(?:comet|gluten|nvidia)[\w.$]*", re.IGNORECASE)


@dataclass(frozen=True)
class Check:
    """What was checked: ok, warning or failed, and what to do."""

    state: str
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.state:<8} {self.what}" + (f"\n         {self.advice}" if self.advice else "")


class Checks(list[Check]):
    """Checks, which a shell shows as text and a notebook as a table."""

    def to_dict(self) -> list[dict[str, str]]:
        """The checks as data."""
        return [asdict(c) for c in self]

    def __repr__(self) -> str:
        works = "cannot work" if any(c.state == "failed" for c in self) else "works"
        return "\n".join([*map(str, self), f"Springbok {works} here."])

    def _repr_html_(self) -> str:
        rows = ((c.state, c.what, c.advice) for c in self)
        return markup.part(markup.section("Springbok's checks", (), ("state", "found", "what to do"), rows))


def doctor(spark: SparkSession) -> Checks:
    """Check a running session, also one of Spark Connect, by two small queries and by its settings.

    Raises:
        SpringbokError: the session is stopped, or its server cannot be reached.
    """
    return Checks(of_session(spark))


def of_session(spark: SparkSession) -> Iterator[Check]:
    """The checks of a session, one by one."""
    classic = _server.is_classic(spark)
    if not _server.is_active(spark):
        why = (_jvm.refusal(spark) or _server.INACTIVE) if classic else _server.INACTIVE_SERVER
        yield Check("failed", "the extension is not active in this session", why)
        return

    def get(key: str) -> str:
        return str(spark.conf.get(key, None) or known().get(key, {}).get("default", ""))

    df = spark.sql(_JOIN)
    with _jvm.spark_errors("A query of the doctor fails"):
        df.collect()
    r = report(df)
    yield Check("ok", f"the extension is active in Spark {spark.version}, Springbok {r.springbok}")
    if _planned(r):
        yield Check("ok", f"a join was planned: {', '.join(r.strategies)}")
    elif r.note:
        yield Check("warning", f"Springbok plans no query: {r.note}", "Take the setting away.")
    else:
        yield Check("failed", "a join was not planned", "The log has a warning of the rule that failed.")
    yield _tasks(spark, r.resources)
    named = _ENGINES.findall(f"{get('spark.sql.extensions')},{get('spark.plugins')}")
    if rules := _jvm.columnar_rules(spark) if classic else named:
        engines = f"another extension may replace operators: {', '.join(rules)}"
        yield Check("warning", engines, "Queries whose operators it replaces get no runtime filters (COLUMNAR_RULE).")
    yield from of_settings(get, r)


def of_settings(get: Callable[[str], str], r: ReportData) -> Iterator[Check]:
    """What settings say, empty without a value, beside the report of a query of their session."""
    for key, (value, effect) in _CONFLICTS.items():
        if get(key).lower() == value.lower():
            yield Check("warning", f"{key} is {value}: {effect}", f"Take {key} away.")
    evaluator = get(_EVALUATOR)
    if evaluator and "springbok" not in evaluator:
        advice = "Plans with filters may be rejected at run time; take it away if you can."
        yield Check("warning", f"{_EVALUATOR} is {evaluator}, which counts runtime filters as shuffles", advice)
    if not Spark(r.spark).explains:
        yield Check("ok", f"EXPLAIN of Spark {r.spark} takes no section: Springbok's is in springbok.report(df)")
    elif _planned(r) and "springbok" not in get(_PROVIDERS):
        yield Check("warning", f"{_PROVIDERS} is empty: EXPLAIN has no section", f"Take {_PROVIDERS} away.")
    yield _heaps(get, r.resources)
    if get("spark.dynamicAllocation.enabled") == "true" and not runs_tasks_in_driver(get("spark.master")):
        if get(_EXECUTORS) == "0":
            now = f"dynamic allocation: plans assume the executors of the moment, now {r.resources.executors}"
            yield Check("warning", now, f"Set {_EXECUTORS} to the number that an application usually has.")
        if get(_KEEPS_SHUFFLES[0]) == "false" and get(_KEEPS_SHUFFLES[1]) != "true":
            lost = "dynamic allocation: executors that hold shuffle files may go, and build sides would run again"
            yield Check("warning", lost, f"Set {' or '.join(_KEEPS_SHUFFLES)} to true.")
    if get("spark.eventLog.enabled") == "true":
        advice = "The History Server shows them if SPARK_DAEMON_CLASSPATH has the jar."
        yield Check(
            "ok", f"the event log in {get('spark.eventLog.dir') or '/tmp/spark-events'} has the reports", advice
        )
    else:
        advice = "The History Server, qualify and fleet need spark.eventLog.enabled=true."
        yield Check("ok", "no event log is written", advice)


def _planned(r: ReportData) -> bool:
    return any(j.reason for j in r.joins)


def _tasks(spark: SparkSession, r: Resources) -> Check:
    """Whether executors have the jar."""
    tasks = max(1, min(1000, r.executors * r.cores_per_executor))
    try:
        with _jvm.spark_errors("tasks cannot run Springbok's classes"):
            refusals = {str(row[0]) for row in spark.sql(_IN_TASKS.format(tasks)).collect()} - {"null", "None"}
    except SpringbokError as e:
        return Check("failed", str(e), "Add the jar to spark.jars, or put it into $SPARK_HOME/jars of all nodes.")
    if refusals:
        return Check("failed", "the jar stays off on an executor", " ".join(sorted(refusals)))
    return Check("ok", f"tasks run Springbok's classes ({tasks} tried)")


def _heaps(get: Callable[[str], str], r: Resources) -> Check:
    """What the heaps allow to broadcast, beside the limits of Spark and Springbok."""
    heap = min(r.driver_heap_bytes, r.executor_heap_bytes)
    # A relation takes about twice the bytes of its rows.
    fits = heap * float(get("spark.springbok.join.broadcastMemoryFraction")) / 2
    limits = {key: size_bytes(get(key) or "10m") or 0 for key in (_THRESHOLD, _LIMIT)}
    key = next((key for key, limit in limits.items() if fits < limit), "")
    what = f"the smaller heap of driver and executors ({size(heap)}) allows broadcasts of {size(fits)}"
    advice = f"More memory for both allows the {size(limits[key])} of {key}." if key else ""
    return Check("warning" if key == _THRESHOLD else "ok", what, advice)
