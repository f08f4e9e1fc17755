"""The JVM half: its classes, its documents, and what Spark raises, in one sentence."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from springbok.errors import SpringbokError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def gateway(spark: SparkSession, name: str = "PythonGateway") -> Any:
    """A class of the jar, by default the one that Python calls.

    Raises:
        SpringbokError: the session is a Spark Connect session, or stopped.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise SpringbokError("This is a Spark Connect session: Springbok works in the server that it is connected to.")
    if spark._sc._jsc is None:
        raise SpringbokError("This session has been stopped: make a new one with springbok.configure(builder).")
    jvm: Any = spark._jvm
    return own_class(name, jvm._gateway_client)


def own_class(name: str, client: Any) -> Any:
    """A class by its whole name: through `jvm.org.apache…`, py4j would look for each part of it in all jars."""
    from py4j.java_gateway import JavaClass

    return JavaClass(f"org.apache.spark.sql.springbok.{name}", client)


def is_active(spark: SparkSession) -> bool:
    """Whether the session has Springbok's rules, switched on or not.

    Raises:
        SpringbokError: the session is a Spark Connect session, or stopped, or its JVM has ended.
    """
    return bool(_answer(lambda: gateway(spark).isActive(spark._jsparkSession)))


def refusal(spark: SparkSession) -> str | None:
    """Why the jar stays off on the session's Spark; None if it does not, or if the session has no jar."""
    why: str | None = _answer(lambda: gateway(spark, "catalyst.RunningSpark").refusal())
    return why


def columnar_rules(spark: SparkSession) -> list[str]:
    """The columnar rules of other extensions in the session, such as those of native engines."""
    rules = _answer(lambda: gateway(spark, "catalyst.OtherColumnarRules").all())
    return [] if rules is None else [rules.apply(i).getClass().getName() for i in range(rules.size())]


def _answer(ask: Callable[[], Any]) -> Any:
    """What a class of the jar answers; None if the session does not have the class."""
    from py4j.protocol import Py4JError

    try:
        with living():
            return ask()
    except Py4JError:
        return None


def text(pieces: Any) -> str:
    """A document, which the JVM hands over in pieces."""
    return "".join(pieces.get(i) for i in range(pieces.size()))


@contextmanager
def living() -> Iterator[None]:
    """Turn what py4j raises of a JVM that has ended into one sentence: errors of its own, or the socket's."""
    from py4j.protocol import Py4JNetworkError

    try:
        yield
    except (Py4JNetworkError, ConnectionError) as e:
        raise SpringbokError("The JVM of this session has ended: restart Python and make a new session.") from e


@contextmanager
def spark_errors(what: str = "Spark cannot plan this query, so there is no report of it") -> Iterator[None]:
    """Turn what Spark raises into one sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with living(), _no_json():
            yield
    except (PySparkException, Py4JError) as e:
        raise SpringbokError(f"{what}: {first_line(e)[:300]}") from e


@contextmanager
def _no_json() -> Iterator[None]:
    """From version 4 on, PySpark also logs an error: as 5 KB of JSON with a stack trace, to standard error."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        yield
        return
    here = threading.get_ident()

    def other_thread(record: logging.LogRecord) -> bool:
        return record.thread != here

    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    for logger in loggers:
        logger.addFilter(other_thread)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(other_thread)


def first_line(e: BaseException) -> str:
    """What an exception says first. Before the JVM's own message, py4j has a line that only says that there is one."""
    lines = [line.strip().removeprefix(": ") for line in str(e).splitlines() if line.strip(" :\t")]
    if lines and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return lines[0] if lines else type(e).__name__
