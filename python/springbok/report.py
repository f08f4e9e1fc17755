"""Strategy reports: what was decided about a query, why, and what it did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from springbok.errors import SpringbokError
from springbok.record import Report
from springbok.session import _jvm, is_active, report_class
from springbok.settings import checked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_INACTIVE = "This session runs without Springbok: make it with springbok.configure(SparkSession.builder).getOrCreate()."


def report(
    df: DataFrame,
    *,
    observed: bool = False,
    executors: int | None = None,
    cores: int | None = None,
    executor_memory: str | int | None = None,
) -> Report:
    """The strategy report of a DataFrame; never runs it.

    After `df.collect()`, `df.toPandas()` or `df.toLocalIterator()` it holds what that run observed. `count()`, `show()`
    and writes plan a query of their own, which this DataFrame's report does not see.

    With `executors`, `cores` (of one executor) or `executor_memory` (such as "32g") it is the report of the query as it
    would be planned on such a cluster; what is not given is as it is in the running one.

    Args:
        df: any classic DataFrame that is not streaming.
        observed: what was observed is wanted: if the DataFrame itself has not run, the report is that of the last
            `count()`, `show()`, write or other query of this session that ran its plan; `execution` says which.
        executors: number of executors of an imagined cluster.
        cores: cores of each.
        executor_memory: heap of each.

    Raises:
        SpringbokError: no classic DataFrame, a streaming one, one that cannot be planned, a stopped session, a session
            without Springbok; with `observed`, a DataFrame that has not run.
    """
    shape = {
        "cluster_executors": executors,
        "cluster_coresPerExecutor": cores,
        "cluster_executorMemory": executor_memory,
    }
    imagined = checked({k: v for k, v in shape.items() if v is not None})
    if imagined and observed:
        raise SpringbokError("A plan for an imagined cluster has not run: leave out observed=True, or the cluster.")
    query, spark = execution(df), df.sparkSession
    reports = report_class(spark, "ForPython")
    with spark_errors():
        if imagined:
            settings = _jvm(spark).java.util.HashMap()
            for key, value in imagined.items():
                settings.put(key, value)
            return Report.from_json(_text(reports.whatIf(query, settings)))
        own = Report.from_json(_text(reports.report(query)))
        if own.state == "executed" or not observed:
            return own
        other = reports.ran(query)
    if other is None:
        raise SpringbokError(
            "This DataFrame has not run in this session, or too long ago: run an action such as df.collect() first, or "
            "take springbok.report(df) for the plan."
        )
    return Report.from_json(_text(other))


def last_reports(spark: SparkSession, n: int = 10) -> list[Report]:
    """The reports of the last queries with joins that this session has finished, the newest first.

    Whoever ran them and however: SQL, `count()`, `show()`, writes. A session keeps `spark.springbok.report.history` of
    them.

    Raises:
        SpringbokError: a Spark Connect session, a stopped one, or one without Springbok.
    """
    _check_active(spark)
    text = _text(report_class(spark, "ForPython").last(spark._jsparkSession, n))
    return [Report.from_dict(d) for d in json.loads(text)]


def execution(df: DataFrame) -> Any:
    """The DataFrame's query in the JVM."""
    spark = getattr(df, "sparkSession", None)
    if spark is None:
        raise SpringbokError(f"A report is made of a DataFrame, not of a {type(df).__name__}.")
    _check_active(spark)
    if df.isStreaming:
        raise SpringbokError("A streaming DataFrame has no strategy report: Springbok leaves streaming plans alone.")
    return df._jdf.queryExecution()


def _text(pieces: Any) -> str:
    """A document of the JVM's."""
    return "".join(pieces.get(i) for i in range(pieces.size()))


def _check_active(spark: SparkSession) -> None:
    if not is_active(spark):
        raise SpringbokError(_INACTIVE)


@contextmanager
def spark_errors(what: str = "Spark cannot plan this query, so there is no report of it") -> Iterator[None]:
    """What Spark raises, as one sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as e:
        first = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise SpringbokError(f"{what}: {first[:300]}") from e
