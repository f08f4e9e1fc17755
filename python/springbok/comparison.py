"""A query without and with Springbok: how the plans differ, how long both take, whether the answers are equal."""

from __future__ import annotations

import itertools
import json
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok import markup
from springbok._jvm import gateway, spark_errors
from springbok._server import check_query, is_classic, planned
from springbok.errors import CheckFailed
from springbok.model import Join, Reason
from springbok.reports import Report, pandas, report, width
from springbok.session import ENABLED, temporarily

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

_FAILED = "The query failed"
_COLUMNS = ("join", "without", "with", "changed", "why")
_MEASURED = ("seconds_off", "seconds_on", "equal")


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

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """Parse what `to_json` wrote; see `Report.from_json`."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> Comparison:
        """The same for a parsed document."""
        return _comparison(Report.from_dict(d["off"]), Report.from_dict(d["on"]), *map(d.get, _MEASURED))

    def to_dict(self) -> dict[str, Any]:
        """Both reports and what was measured. The joins follow from the reports."""
        return {"off": self.off.to_dict(), "on": self.on.to_dict(), **{m: getattr(self, m) for m in _MEASURED}}

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def to_pandas(self) -> pd.DataFrame:
        """The joins as a pandas DataFrame; see `Report.to_pandas`."""
        rows = [(j.join, j.off, j.on, j.changed, _why(j)[1]) for j in self.joins]
        return pandas().DataFrame(rows, columns=_COLUMNS)

    def check(self, **conditions: Any) -> None:
        """Raise `CheckFailed` if the answers differ, or if Springbok's plan violates conditions of `Report.check`."""
        if self.equal is False:
            raise CheckFailed("The answers without and with Springbok differ.")
        self.on.check(**conditions)

    def text(self, *, verbose: bool = False) -> str:
        """What differs, in lines as wide as the terminal; with `verbose` also both reports as a whole."""
        return "\n".join([*_text(self, width()), *(f"\n{n}\n\n{text}" for n, text in self._texts() if verbose)])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Comparison {'; '.join(filter(None, (_counts(self), _verdict(self))))}>"

    def _repr_html_(self) -> str:
        return markup.part(self._body())

    def save_html(self, path: str | Path) -> Path:
        """Write what differs and the text of both reports as one self-contained page; see `Report.save_html`."""
        texts = "".join(f"<h3>{name}</h3><pre>{escape(text)}</pre>" for name, text in self._texts())
        return markup.write(Path(path), markup.page("Without and with Springbok", self._body() + texts))

    def _body(self) -> str:
        rows = [(j.join, j.off or "none", j.on or "none", *_why(j)) for j in self.joins]
        joins = markup.section("Joins", filter(None, (_counts(self), _verdict(self))), _COLUMNS, rows)
        return joins + markup.section("Runtime filters", (), ("filter",), [(f,) for f in _used(self)])

    def _texts(self) -> Iterator[tuple[str, str]]:
        for name, r in (("Without Springbok", self.off), ("With Springbok", self.on)):
            yield name, r.text(verbose=True)


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
    check_query(df)
    spark = df.sparkSession
    if not is_classic(spark):
        return _on_server(df, run=run)
    with spark_errors():
        query = df._jdf.queryExecution()
        # The class of a classic DataFrame: it moved in Spark 4.0.
        off, on = (type(df)(gateway(spark).dataset(query, enabled), spark) for enabled in (False, True))
    if not run:
        return _comparison(report(off), report(on))
    with spark_errors(_FAILED):
        return _ran(timed(lambda: off), timed(lambda: on))


def _on_server(df: DataFrame, *, run: bool) -> Comparison:
    """The same for a DataFrame of Spark Connect, whose query is planned when it runs."""
    with spark_errors():
        off, on = (Report.from_json(planned(df, {ENABLED: value})) for value in ("false", "true"))
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
        swapped = before is not None and before.left_keys != j.left_keys
        yield JoinChange(f"{j.type} {j.condition}", _strategy(before, swapped=swapped), _strategy(j), j.reason)
    for j in itertools.chain.from_iterable(rest.values()):
        yield JoinChange(f"{j.type} {j.condition}", _strategy(j), None, None)


def _strategy(j: Join | None, *, swapped: bool = False) -> str | None:
    """What executes the join, its build side as the other plan calls it if both have swapped sides."""
    if j is None or not j.strategy:
        return None
    build = {"left": "right", "right": "left"}[j.build] if j.build and swapped else j.build
    return j.strategy + (f", build {build}" if build else "")


def _counts(c: Comparison) -> str:
    """How much the plans differ."""
    changed = sum(j.changed for j in c.joins)
    return f"Without and with Springbok: {changed} of {len(c.joins)} joins differ, {len(_used(c))} runtime filters"


def _verdict(c: Comparison) -> str:
    """What running both has shown; empty if they were not run."""
    if c.seconds_off is None or c.seconds_on is None:
        return ""
    equal = "the answers are equal" if c.equal else "THE ANSWERS DIFFER"
    times = f"{c.seconds_off:.2f} s without, {c.seconds_on:.2f} s with Springbok"
    return f"{times} ({c.seconds_off / max(c.seconds_on, 1e-9):.2f}x), one run each; {equal}"


def _used(c: Comparison) -> list[str]:
    """The filters that the second plan has, with what they did."""
    return [": ".join(filter(None, (f.name, f.effect))) for f in c.on.filters if f.status in ("placed", "used")]


def _why(j: JoinChange) -> tuple[str, str]:
    """Whether a join has changed, and the reason."""
    return ("yes", str(j.reason or "")) if j.changed else ("", "")


def _text(c: Comparison, most: int) -> Iterator[str]:
    """Both plans side by side, in lines of at most so many characters."""
    yield from filter(None, (_counts(c), _verdict(c)))
    rows = [(j.join, j.off or "none", (j.on or "none") + ("  *" if j.changed else "")) for j in c.joins]
    column = (most - 6) // 3
    for row in [("",) * 3, ("join", "without", "with"), *rows] if rows else []:
        cells = [textwrap.wrap(t, column) or [""] for t in row]
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            yield "   ".join(p.ljust(column) for p in parts).rstrip()
    reasons = [f"{j.join}: {j.reason}" for j in c.joins if j.changed and j.reason]
    for title, texts in (("Why (*)", reasons), ("Runtime filters", _used(c))):
        yield from ("", title) if texts else ()
        for t in texts:
            yield from textwrap.wrap(t, most, initial_indent="  ", subsequent_indent="    ")
