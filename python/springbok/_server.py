"""Where reports come from: the JVM of this process, or the server of a Spark Connect session."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from weakref import WeakSet

from springbok import _jvm, jar
from springbok.errors import SpringbokError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_INACTIVE = (
    "The server of this Spark Connect session runs without Springbok: start it with Springbok's jar in spark.jars and "
    "spark.sql.extensions=org.apache.spark.sql.springbok.SpringbokExtensions."
)
_PAGE = "org.apache.spark.sql.springbok.report.page.ReportPage"


class Server(Protocol):
    """What makes reports. All documents are JSON."""

    def planned(self, df: DataFrame) -> str:
        """The report of a DataFrame's own query."""

    def imagined(self, df: DataFrame, settings: Mapping[str, str]) -> str:
        """The report of a DataFrame's query as it would be planned under these settings, by their keys."""

    def ran(self, df: DataFrame) -> str | None:
        """The report of the last run of a DataFrame's query; None if there is none."""

    def last(self, n: int) -> list[dict[str, Any]]:
        """The reports of the session's last queries, the newest first."""


class Classic:
    """The JVM of this process."""

    def __init__(self, spark: SparkSession) -> None:
        _jvm.check_active(spark)
        self.spark = spark
        self.gateway = _jvm.gateway(spark)

    def planned(self, df: DataFrame) -> str:
        """See `Server`."""
        return _jvm.text(self.gateway.report(_jvm.execution(df)))

    def imagined(self, df: DataFrame, settings: Mapping[str, str]) -> str:
        """See `Server`."""
        return _jvm.text(self.gateway.whatIf(_jvm.execution(df), _jvm.java_map(self.spark, settings)))

    def ran(self, df: DataFrame) -> str | None:
        """See `Server`."""
        found = self.gateway.ran(_jvm.execution(df))
        return None if found is None else _jvm.text(found)

    def last(self, n: int) -> list[dict[str, Any]]:
        """See `Server`."""
        with _jvm.living():
            reports: list[dict[str, Any]] = json.loads(_jvm.text(self.gateway.last(self.spark._jsparkSession, n)))
        return reports


class Connect:
    """The server of a Spark Connect session, asked in SQL, and by a hint that replaces a query by its report."""

    # A session that has the extension keeps it, so its server is asked once.
    _known: ClassVar[WeakSet[SparkSession]] = WeakSet()

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        # Without the extension, the hint would be ignored and the query would run.
        if spark not in self._known:
            if not is_active(spark):
                raise SpringbokError(_INACTIVE)
            self._known.add(spark)

    def planned(self, df: DataFrame) -> str:
        """See `Server`."""
        report = self._asked(df)
        assert report is not None
        return report

    def imagined(self, df: DataFrame, settings: Mapping[str, str]) -> str:
        """See `Server`."""
        report = self._asked(df, *(f"{k}={v}" for k, v in settings.items()))
        assert report is not None
        return report

    def ran(self, df: DataFrame) -> str | None:
        """See `Server`."""
        return self._asked(df, "observed")

    def last(self, n: int) -> list[dict[str, Any]]:
        """See `Server`."""
        with _jvm.spark_errors("The server cannot give its reports"):
            rows = self.spark.sql(f"SELECT report FROM springbok_reports({n})").collect()
        return [json.loads(row[0]) for row in rows]

    def _asked(self, df: DataFrame, *parameters: str) -> str | None:
        report: str | None = df.hint("springbok_report", *parameters).collect()[0][0]
        return report


def is_active(spark: SparkSession) -> bool:
    """Whether the session has Springbok's rules, switched on or not.

    Raises:
        SpringbokError: the session is stopped, or its server cannot be reached.
    """
    if hasattr(spark, "_jsparkSession"):
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


def of(spark: SparkSession) -> Server:
    """What makes the reports of a session.

    Raises:
        SpringbokError: the session is stopped, or has no Springbok.
    """
    return Classic(spark) if hasattr(spark, "_jsparkSession") else Connect(spark)


def of_query(df: DataFrame) -> Server:
    """What makes the reports of a DataFrame.

    Raises:
        SpringbokError: this is not a DataFrame, it is a streaming one, or its session has no Springbok.
    """
    spark = getattr(df, "sparkSession", None)
    if spark is None:
        kind = f"{type(df).__module__}.{type(df).__name__}".removeprefix("builtins.")
        pandas = kind.startswith("pyspark.pandas.")
        instead = ": spark.sql(query) makes one" if kind == "str" else ": to_spark() makes one" if pandas else ""
        raise SpringbokError(f"A report is made of a Spark DataFrame, not of {kind}{instead}.")
    server = of(spark)
    with _jvm.spark_errors():
        streaming = df.isStreaming  # a Spark Connect server analyzes the query for it
    if streaming:
        raise SpringbokError("A streaming DataFrame has no strategy report: Springbok leaves streaming plans alone.")
    return server


def html(report: str, *, page: bool) -> str | None:
    """A report, given as JSON, as a whole HTML page or as a part of one; None if there is no session that can make it.

    Raises:
        SpringbokError: the JVM or the server cannot make the page.
    """
    if find_spec("pyspark") is None:
        return None
    if _jvm.runs():
        return _jvm.html(report, page=page)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        # Also in a thread that made no session.
        spark = SparkSession.active()
    except PySparkException:
        return None
    # In hexadecimal: how a text is quoted depends on settings.
    sql = f"SELECT page FROM springbok_page(X'{report.encode().hex()}', {str(page).lower()})"
    with _jvm.spark_errors("The page of this report cannot be made"):
        return str(spark.sql(sql).collect()[0][0])


def page_without_session(report: str) -> str:
    """A report, given as JSON, as a whole HTML page, by a JVM that starts for it and has no Spark session.

    Raises:
        SpringbokError: PySpark, its jars, Java or Springbok's jar is missing, or the JVM cannot make the page.
    """
    spark, java = jar.installed(), jar.java()
    own = jar.find(spark)
    if own is None:
        raise SpringbokError(f"{jar.missing(spark)}.")
    if java is None or spark.home is None:
        what = "Java" if java is None else "Spark's jars"
        raise SpringbokError(f"The page of a report needs {what} or a session: python -m springbok doctor says more.")
    classes = os.pathsep.join((str(own), str(Path(spark.home) / "jars" / "*")))
    done = subprocess.run([java, "-cp", classes, _PAGE], input=report.encode(), capture_output=True, check=False)
    if done.returncode:
        first = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise SpringbokError(f"The page of this report cannot be made: {first[:300]}")
    return done.stdout.decode()
