"""The same query without and with Springbok, side by side."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from springbok.record import Join, Reason, Report
from springbok.report import execution, report, spark_errors
from springbok.session import report_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class JoinChange:
    """A join in both plans: its strategy without and with Springbok, None where the plan does not have it."""

    join: str
    off: str | None
    on: str | None
    reason: Reason | None

    @property
    def changed(self) -> bool:
        """Whether the plans differ."""
        return self.off != self.on


@dataclass(frozen=True)
class Comparison:
    """Both reports; times in seconds of one run each and whether the answers are equal, where they were run."""

    off: Report
    on: Report
    joins: tuple[JoinChange, ...]
    seconds_off: float | None = None
    seconds_on: float | None = None
    equal: bool | None = None

    def __str__(self) -> str:
        from springbok.text import comparison

        return comparison(self)

    def _repr_html_(self) -> str:
        from springbok.html import comparison

        return comparison(self)


def compare(df: DataFrame, *, run: bool = False) -> Comparison:
    """Plan a DataFrame's query without and with Springbok and say what differs and why.

    Both are planned anew, with the session's settings; the DataFrame and the session stay as they are.

    Args:
        df: any classic DataFrame that is not streaming.
        run: also run both, without Springbok first, time them, and compare the answers as sets of rows, floating-point
            numbers to nine digits. The answers are held in memory.

    Raises:
        SpringbokError: see `report`.
    """
    query = execution(df)
    with spark_errors():
        off, on = (_frame(query, df, enabled) for enabled in (False, True))
    seconds: list[float | None] = [None, None]
    equal = None
    if run:
        answers = []
        for i, frame in enumerate((off, on)):
            start = time.perf_counter()
            rows = frame.collect()
            seconds[i] = time.perf_counter() - start
            answers.append(answer(rows))
        equal = answers[0] == answers[1]
    before, after = report(off), report(on)
    return Comparison(before, after, tuple(_pairs(before.joins, after.joins)), seconds[0], seconds[1], equal)


def answer(rows: Iterable[Any]) -> list[tuple[str, ...]]:
    """Rows in an order of their own, floating-point numbers rounded: the order of their sums is not defined."""
    return sorted(tuple(f"{v:.9g}" if isinstance(v, float) else str(v) for v in row) for row in rows)


def _frame(query: Any, df: DataFrame, enabled: bool) -> DataFrame:
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    return Classic(report_class(df.sparkSession, "WhatIf").dataset(query, enabled), df.sparkSession)


def _pairs(off: Iterable[Join], on: Iterable[Join]) -> Iterable[JoinChange]:
    """The joins of both plans by type and keys: which side is left may differ."""
    from springbok.text import keys, strategy

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
