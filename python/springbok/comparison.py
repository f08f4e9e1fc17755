"""A query without and with Springbok: how the plans differ, how long both take, whether the answers are equal."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from springbok._jvm import execution, gateway, spark_errors
from springbok._server import Connect, of_query
from springbok.model import ComparisonData, Join, JoinChange
from springbok.render import html, text
from springbok.render.words import keys, strategy
from springbok.reports import Report, report
from springbok.session import ENABLED, temporarily

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FAILED = "The query failed"


@dataclass(frozen=True)
class Comparison(ComparisonData):
    """Both reports; times in seconds of one run each and whether the answers are equal, where they were run."""

    off: Report
    on: Report

    def __str__(self) -> str:
        return text.comparison(self)

    def __repr__(self) -> str:
        return f"<Comparison {'; '.join(text.headline(self))}>"

    def _repr_html_(self) -> str:
        return html.comparison(self)


@dataclass(frozen=True)
class Run:
    """A run of a query: seconds from its planning to its last row, the answer as `answer` gives it, and the report."""

    seconds: float
    answer: list[tuple[str, ...]]
    report: Report


def compare(df: DataFrame, *, run: bool = False) -> Comparison:
    """Plan a DataFrame's query without and with Springbok and say what differs and why.

    Both are planned anew, with the session's settings; the DataFrame and the session stay as they are. A session of
    Spark Connect has `spark.springbok.enabled` changed while the queries run.

    Args:
        df: any DataFrame that is not streaming.
        run: also run both, without Springbok first, time them, and compare the answers as sets of rows, floating-point
            numbers to nine digits. The answers are held in memory. A query may have several right answers: with LIMIT
            and no total order, or with `collect_list`.

    Raises:
        SpringbokError: see `report`; the query failed.
    """
    server = of_query(df)
    if isinstance(server, Connect):
        return _on_server(server, df, run=run)
    query = execution(df)
    with spark_errors():
        off, on = (_frame(query, df, enabled) for enabled in (False, True))
    if not run:
        return _comparison(report(off), report(on))
    with spark_errors(_FAILED):
        return _ran(timed(lambda: off), timed(lambda: on))


def _on_server(server: Connect, df: DataFrame, *, run: bool) -> Comparison:
    """The same for a DataFrame of Spark Connect, whose query is planned when it runs."""
    with spark_errors():
        off, on = (Report.from_json(server.imagined(df, {ENABLED: value})) for value in ("false", "true"))
    if not run:
        return _comparison(off, on)
    keeps = df.sparkSession.conf.get("spark.springbok.report.retained") != "0"
    with spark_errors(_FAILED):
        with temporarily(df.sparkSession, {ENABLED: "false"}):
            without = timed(lambda: df, lambda _: off)
        with temporarily(df.sparkSession, {ENABLED: "true"}):
            with_ = timed(lambda: df, lambda d: report(d, observed=True) if on.joins and keeps else on)
    return _ran(without, with_)


def timed(query: Callable[[], DataFrame], reported: Callable[[DataFrame], Report] = report) -> Run:
    """Make a DataFrame, run it, and say how long both took together, what came out, and what is reported of it."""
    start = time.perf_counter()
    df = query()
    rows = df.collect()
    seconds = time.perf_counter() - start
    return Run(seconds, answer(rows), reported(df))


def answer(rows: Iterable[Any]) -> list[tuple[str, ...]]:
    """Rows in an order of their own, floating-point numbers rounded: the order of their sums is not defined."""
    return sorted(tuple(_rounded(v) for v in row) for row in rows)


def _rounded(value: Any) -> str:
    """A value as text, also the numbers in it; a map has no order, and -0.0 equals 0.0 as in SQL."""
    if isinstance(value, float):
        return f"{value + 0.0:.9g}"
    if isinstance(value, dict):
        return str(sorted((_rounded(k), _rounded(v)) for k, v in value.items()))
    return str([_rounded(v) for v in value]) if isinstance(value, (list, tuple)) else str(value)


def _ran(without: Run, with_: Run) -> Comparison:
    equal = without.answer == with_.answer
    return _comparison(without.report, with_.report, without.seconds, with_.seconds, equal)


def _comparison(off: Report, on: Report, *outcome: Any) -> Comparison:
    return Comparison(off, on, tuple(_pairs(off.joins, on.joins)), *outcome)


def _frame(query: Any, df: DataFrame, enabled: bool) -> DataFrame:
    # The class of a classic DataFrame: it moved in Spark 4.0.
    return type(df)(gateway(df.sparkSession).dataset(query, enabled), df.sparkSession)


def _pairs(off: Iterable[Join], on: Iterable[Join]) -> Iterable[JoinChange]:
    """The joins of both plans by type and keys: which side is left may differ."""

    def identity(j: Join) -> tuple[str, frozenset[frozenset[str]]]:
        return j.type, frozenset(frozenset(k) for k in zip(j.left_keys, j.right_keys, strict=True))

    rest: dict[Any, list[Join]] = defaultdict(list)
    for j in off:
        if j.strategy:
            rest[identity(j)].append(j)
    for j in on:
        same = rest[identity(j)]
        before = same.pop(0) if same else None
        yield JoinChange(
            f"{j.type} {keys(j)}",
            _strategy(before, swapped=before is not None and before.left_keys != j.left_keys),
            strategy(j) if j.strategy else None,
            j.reason,
        )
    for gone in rest.values():
        for j in gone:
            yield JoinChange(f"{j.type} {keys(j)}", strategy(j), None, None)


def _strategy(j: Join | None, *, swapped: bool) -> str | None:
    """What executes the join, its build side as the other plan calls it."""
    if j is None or not j.strategy:
        return None
    build = {"left": "right", "right": "left"}[j.build] if j.build and swapped else j.build
    return j.strategy + (f", build {build}" if build else "")
