"""Whether Springbok works in a running session, and what works against it.

The module is not called `doctor`: in `springbok` that name is the function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from springbok import _jvm, _server, markup
from springbok.checks import size
from springbok.errors import SpringbokError
from springbok.jar import Spark
from springbok.model import Resources
from springbok.reports import report
from springbok.settings import known, size_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JOIN = "SELECT count(*) FROM range(1000) a JOIN range(10) b ON a.id = b.id"
# Tasks run a class of the jar: it says why the jar stays off, or null.
_IN_TASKS = (
    "SELECT reflect('org.apache.spark.sql.springbok.catalyst.RunningSpark', 'refusal') FROM range(0, {0}, 1, {0})"
)
_MOST_TASKS = 1000

# Settings that work against Springbok: the value that does, and its effect. With the first two, it plans nothing.
_OFF = {
    "spark.springbok.enabled": ("false", "Springbok is switched off"),
    "spark.springbok.shadow": ("true", "Spark plans and runs all queries alone, and reports show Springbok's plans"),
}
_CONFLICTS = {
    "spark.sql.adaptive.enabled": ("false", "no runtime filters are made, and no decision is revised at run time"),
    **_OFF,
    "spark.springbok.join.enabled": ("false", "join strategies are Spark's own"),
    "spark.springbok.runtimeFilter.mode": ("OFF", "no runtime filters are made"),
    "spark.springbok.report.events": ("false", "the Spark UI and the History Server show no reports"),
}
_EVALUATOR = "spark.sql.adaptive.customCostEvaluatorClass"
_PROVIDERS = "spark.sql.extendedExplainProviders"
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_LIMIT = "spark.springbok.join.broadcastBytesLimit"
_FRACTION = "spark.springbok.join.broadcastMemoryFraction"
_EXECUTORS = "spark.springbok.cluster.executors"
_TRACKING = "spark.dynamicAllocation.shuffleTracking.enabled"
_SERVICE = "spark.shuffle.service.enabled"
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

    @property
    def works(self) -> bool:
        """Whether no check has failed."""
        return all(c.state != "failed" for c in self)

    @property
    def verdict(self) -> str:
        """The same as a sentence."""
        return "Springbok works here." if self.works else "Springbok cannot work here."

    def to_dict(self) -> dict[str, Any]:
        """All checks as data."""
        return {"works": self.works, "checks": [asdict(c) for c in self]}

    def __str__(self) -> str:
        return "\n".join([*map(str, self), self.verdict])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = ((c.state, c.what, c.advice) for c in self)
        return markup.part(markup.table(self.verdict, ("state", "found", "what to do"), rows))


def doctor(spark: SparkSession) -> Checks:
    """Check a running session: whether Springbok works in it, and what works against it.

    Two small queries run. `python -m springbok doctor` makes the same checks in a session of its own.

    Args:
        spark: any session, also one of Spark Connect.

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
    if joins := ", ".join(j.strategy or "" for j in r.joins if j.reason):
        yield Check("ok", f"a join was planned: {joins}")
    elif _plans(get):
        yield Check("failed", "a join was not planned", "The log has a warning of the rule that failed.")
    yield _tasks(spark, r.resources)
    named = _ENGINES.findall(f"{get('spark.sql.extensions')},{get('spark.plugins')}")
    if rules := _jvm.columnar_rules(spark) if classic else named:
        yield Check(
            "warning",
            f"another extension may replace operators: {', '.join(rules)}",
            "A query whose operators it replaces gets no runtime filters (COLUMNAR_RULE).",
        )
    yield from of_settings(get, Spark(spark.version), r.resources)


def of_settings(get: Callable[[str], str], spark: Spark, resources: Resources) -> Iterator[Check]:
    """What the settings of a session and its heaps say. A setting without a value is empty."""
    for key, (value, effect) in _CONFLICTS.items():
        if get(key).lower() == value.lower():
            yield Check("warning", f"{key} is {value}: {effect}", f"Take {key} away.")
    evaluator = get(_EVALUATOR)
    if evaluator and "springbok" not in evaluator:
        yield Check(
            "warning",
            f"{_EVALUATOR} is {evaluator}, which counts runtime filters as shuffles",
            "Plans with filters may be rejected at run time; take it away if you can.",
        )
    if not spark.explains:
        yield Check("ok", f"EXPLAIN of Spark {spark.version} takes no section: Springbok's is in springbok.report(df)")
    elif _plans(get) and "springbok" not in get(_PROVIDERS):
        yield Check("warning", f"{_PROVIDERS} is empty: EXPLAIN has no section", f"Take {_PROVIDERS} away.")
    yield _heaps(get, resources)
    if get("spark.dynamicAllocation.enabled") == "true" and not re.match(r"local(\[|$)", get("spark.master")):
        yield from _dynamic_allocation(get, resources)
    if get("spark.eventLog.enabled") == "true":
        advice = "The History Server shows them if SPARK_DAEMON_CLASSPATH has the jar."
        yield Check(
            "ok", f"the event log in {get('spark.eventLog.dir') or '/tmp/spark-events'} has the reports", advice
        )
    else:
        advice = "The History Server, qualify and fleet need spark.eventLog.enabled=true."
        yield Check("ok", "no event log is written", advice)


def _plans(get: Callable[[str], str]) -> bool:
    return not any(get(key).lower() == value for key, (value, _) in _OFF.items())


def _tasks(spark: SparkSession, r: Resources) -> Check:
    """Whether executors have the jar."""
    tasks = max(1, min(_MOST_TASKS, r.executors * r.cores_per_executor))
    try:
        with _jvm.spark_errors("tasks cannot run Springbok's classes"):
            refusals = {str(row[0]) for row in spark.sql(_IN_TASKS.format(tasks)).collect()} - {"null", "None"}
    except SpringbokError as e:
        return Check("failed", str(e), "Add the jar to spark.jars, or put it into $SPARK_HOME/jars of all nodes.")
    if refusals:
        return Check("failed", "the jar stays off on an executor", " ".join(sorted(refusals)))
    return Check("ok", f"tasks run Springbok's classes ({tasks} tried)")


def _heaps(get: Callable[[str], str], r: Resources) -> Check:
    """What the heaps allow to broadcast, beside the limits of Springbok and Spark."""
    heap = min(r.driver_heap_bytes, r.executor_heap_bytes)
    # A relation takes about twice the bytes of its rows.
    fits = heap * float(get(_FRACTION)) / 2
    what = f"the smaller heap of driver and executors ({size(heap)}) allows broadcasts of {size(fits)}"
    limits = {key: size_bytes(get(key) or "10m") or 0 for key in (_THRESHOLD, _LIMIT)}
    key, limit = next(((key, n) for key, n in limits.items() if fits < n), ("", 0))
    advice = f"More memory for both allows the {size(limit)} of {key}." if key else ""
    return Check("warning" if key == _THRESHOLD else "ok", what, advice)


def _dynamic_allocation(get: Callable[[str], str], r: Resources) -> Iterator[Check]:
    if get(_EXECUTORS) == "0":
        now = f"dynamic allocation: plans assume the executors of the moment, now {r.executors}"
        yield Check("warning", now, f"Set {_EXECUTORS} to the number that an application usually has.")
    if "true" not in (get(_TRACKING) or "true", get(_SERVICE)):
        lost = "dynamic allocation: executors that hold shuffle files may go, and build sides would run again"
        yield Check("warning", lost, f"Set {_TRACKING} or {_SERVICE} to true.")
