"""Where reports come from: the JVM of this process, or the server of a Spark Connect session. All documents are JSON.

A server is asked in SQL, and by a hint that replaces a query by its report.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from springbok import _jvm, jar
from springbok.errors import SpringbokError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INACTIVE = (
    "This session runs without Springbok: make it with springbok.configure(SparkSession.builder).getOrCreate(), and "
    "ask 'python -m springbok doctor' if it was made so."
)
INACTIVE_SERVER = (
    "The server of this Spark Connect session runs without Springbok: start it with Springbok's jar in spark.jars and "
    "spark.sql.extensions=org.apache.spark.sql.springbok.SpringbokExtensions."
)
_PAGE = "org.apache.spark.sql.springbok.report.page.ReportPage"
_NO_PAGE = "The page of this report cannot be made"
# Spark Connect sessions that have the extension. They keep it, so a server is asked once.
_known: WeakSet[SparkSession] = WeakSet()


def is_classic(spark: SparkSession) -> bool:
    """Whether a session runs in the JVM of this process."""
    return hasattr(spark, "_jsparkSession")


def is_active(spark: SparkSession) -> bool:
    """Whether the session has Springbok's rules, switched on or not.

    Raises:
        SpringbokError: the session is stopped, or its server cannot be reached.
    """
    if is_classic(spark):
        return _jvm.is_active(spark)
    from pyspark.errors import AnalysisException, PySparkException

    try:
        spark.sql("SELECT report FROM springbok_reports(0)").collect()
        return True
    except AnalysisException:  # there is no such function
        return False
    except PySparkException as e:
        raise SpringbokError(
            "This session has been stopped, or its server cannot be reached: make a new session."
        ) from e


def check_session(spark: SparkSession) -> None:
    """Raise a SpringbokError if the session is stopped, or has no Springbok."""
    if is_classic(spark):
        if not is_active(spark):
            raise SpringbokError(_jvm.refusal(spark) or INACTIVE)
    elif spark not in _known:
        # Without the extension, the hint would be ignored and the query would run.
        if not is_active(spark):
            raise SpringbokError(INACTIVE_SERVER)
        _known.add(spark)


def check_query(df: DataFrame) -> None:
    """Raise a SpringbokError if this is no DataFrame, if it is a streaming one, or if its session has no Springbok."""
    spark = getattr(df, "sparkSession", None)
    if spark is None:
        kind = f"{type(df).__module__}.{type(df).__name__}".removeprefix("builtins.")
        pandas = kind.startswith("pyspark.pandas.")
        instead = ": spark.sql(query) makes one" if kind == "str" else ": to_spark() makes one" if pandas else ""
        raise SpringbokError(f"A report is made of a Spark DataFrame, not of {kind}{instead}.")
    check_session(spark)
    with _jvm.spark_errors():
        streaming = df.isStreaming  # a Spark Connect server analyzes the query for it
    if streaming:
        raise SpringbokError("A streaming DataFrame has no strategy report: Springbok leaves streaming plans alone.")


def planned(df: DataFrame, settings: Mapping[str, str] | None = None) -> str:
    """The report of a DataFrame's own query, or as it would be planned under these settings, by their keys."""
    if not is_classic(df.sparkSession):
        return str(_hinted(df, *(f"{k}={v}" for k, v in (settings or {}).items())))
    gateway, query = _jvm.gateway(df.sparkSession), df._jdf.queryExecution()
    # PySpark's py4j makes a dictionary a map of Java.
    return _jvm.text(gateway.whatIf(query, {**settings}) if settings else gateway.report(query))


def ran(df: DataFrame) -> str | None:
    """The report of the last run of a DataFrame's query; None if there is none."""
    if not is_classic(df.sparkSession):
        report: str | None = _hinted(df, "observed")
        return report
    found = _jvm.gateway(df.sparkSession).ran(df._jdf.queryExecution())
    return None if found is None else _jvm.text(found)


def last(spark: SparkSession, n: int) -> list[dict[str, Any]]:
    """The reports of the session's last queries, the newest first."""
    if is_classic(spark):
        with _jvm.living():
            return list(json.loads(_jvm.text(_jvm.gateway(spark).last(spark._jsparkSession, n))))
    with _jvm.spark_errors("The server cannot give its reports"):
        rows = spark.sql(f"SELECT report FROM springbok_reports({n})").collect()
    return [json.loads(row[0]) for row in rows]


def _hinted(df: DataFrame, *parameters: str) -> Any:
    return df.hint("springbok_report", *parameters).collect()[0][0]


def html(report: str, *, page: bool) -> str | None:
    """A report, given as JSON, as a whole HTML page or as a part of one; None if there is no session that can make it.

    Raises:
        SpringbokError: the JVM or the server cannot make the page.
    """
    if find_spec("pyspark") is None:
        return None
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # A stopped session leaves the JVM running.
    running: Any = SparkContext._gateway
    if running is not None:
        with _jvm.spark_errors(_NO_PAGE):
            return _jvm.text(_jvm.own_class("PythonGateway", running._gateway_client).html(report, page))
    try:
        # Also in a thread that made no session.
        spark = SparkSession.active()
    except PySparkException:
        return None
    # In hexadecimal: how a text is quoted depends on settings.
    sql = f"SELECT page FROM springbok_page(X'{report.encode().hex()}', {str(page).lower()})"
    with _jvm.spark_errors(_NO_PAGE):
        return str(spark.sql(sql).collect()[0][0])


def page_without_session(report: str) -> str | None:
    """A report, given as JSON, as a whole HTML page, by a JVM that starts for it and has no Spark session.

    None if PySpark, its jars, Java or Springbok's jar is missing.

    Raises:
        SpringbokError: the JVM cannot make the page.
    """
    try:
        own, spark, java = jar.jar_path(), jar.installed(), jar.java()
    except SpringbokError:
        return None
    if java is None or spark.home is None:
        return None
    classes = os.pathsep.join((own, str(Path(spark.home) / "jars" / "*")))
    done = subprocess.run([java, "-cp", classes, _PAGE], input=report.encode(), capture_output=True, check=False)
    if done.returncode:
        first = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise SpringbokError(f"{_NO_PAGE}: {first[:300]}")
    return done.stdout.decode()
