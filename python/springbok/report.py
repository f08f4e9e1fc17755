"""Strategy reports: what was decided about a query, why, and what it did."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from springbok.errors import SpringbokError
from springbok.session import _jvm, is_active
from springbok.settings import checked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT_VERSION = 1
T = TypeVar("T")


@dataclass(frozen=True)
class Reason:
    """Why: a stable code with its numbers, a sentence, and the setting that would change it."""

    code: str
    text: str
    setting: str | None = None
    args: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.code}: {self.text}" + (f" [{self.setting}]" if self.setting else "")


@dataclass(frozen=True)
class Table:
    """A table that the query reads; `rows_source` is analyzed, footer, runtime, estimated or unknown."""

    name: str | None
    format: str
    bytes: int
    rows_source: str
    rows: float | None = None
    files: int | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Side:
    """One input of a join as it was estimated: rows, bytes of a row in memory, bytes that are not exceeded."""

    rows_source: str
    row_bytes: float
    partitioned: bool
    rows: float | None = None
    bound_bytes: float | None = None


@dataclass(frozen=True)
class Alternative:
    """A strategy with its cost in bytes, or why it is ruled out."""

    strategy: str
    cost_bytes: float | None = None
    ruled_out: Reason | None = None


@dataclass(frozen=True)
class Join:
    """A join: what Springbok decided (`planned`), what the plan has (`strategy`, `build`), and why.

    `distribution` is colocate, bucket shuffle, broadcast or partitioned; `notes` say what of the query was ignored.
    """

    id: int
    type: str
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    revised: bool
    other_conjuncts: str | None = None
    hint: str | None = None
    planned: str | None = None
    strategy: str | None = None
    build: str | None = None
    reason: Reason | None = None
    distribution: str | None = None
    notes: tuple[Reason, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    left: Side | None = None
    right: Side | None = None
    output_rows: int | None = None


@dataclass(frozen=True)
class Filter:
    """A runtime filter, or one that was declined (`id` is None where it was never placed).

    `status` is placed, used, unused or declined; rows are those that were tested at the scan.
    """

    join: int
    source: str
    status: str
    reason: Reason
    id: str | None = None
    target_table: str | None = None
    target_column: str | None = None
    kinds: tuple[str, ...] = ()
    expected_kept: float | None = None
    build_rows: int | None = None
    build_keys: int | None = None
    bytes: int | None = None
    false_positive_rate: float | None = None
    rows_in: int | None = None
    rows_removed: int | None = None
    row_groups: int | None = None
    row_groups_removed: int | None = None
    scan_rows: int | None = None
    files: int | None = None
    pauses: int | None = None


@dataclass(frozen=True)
class Conjunct:
    """A conjunct: ns a row, the part of the rows that it keeps, whether it may raise an error."""

    condition: str
    cost: float
    may_raise: bool
    selectivity: float | None = None


@dataclass(frozen=True)
class Conjuncts:
    """The conjuncts of a filter or join in their order; costs are ns a row in Spark's order and in this one."""

    operator: str
    changed: bool
    cost_before: float
    cost_after: float
    order: tuple[Conjunct, ...]


@dataclass(frozen=True)
class JoinOrder:
    """An order of joins: the query's, the one put in its place or why not; costs are expected ms of one core."""

    relations: int
    before: str
    reason: Reason
    after: str | None = None
    cost_before_ms: float | None = None
    cost_after_ms: float | None = None


@dataclass(frozen=True)
class Report:
    """The strategy report of one query; `state` is planned, or executed if the DataFrame itself has run."""

    version: int
    springbok: str
    spark: str
    state: str
    note: str | None
    tables: tuple[Table, ...]
    joins: tuple[Join, ...]
    filters: tuple[Filter, ...]
    join_order: tuple[JoinOrder, ...]
    conjuncts: tuple[Conjuncts, ...]
    failures: tuple[dict[str, str], ...]
    settings: dict[str, str]
    strategies: dict[str, int]
    _document: dict[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Parse the JVM's document.

        Raises:
            SpringbokError: a document of another version of the format.
        """
        d = json.loads(text)
        if d.get("version") != FORMAT_VERSION:
            raise SpringbokError(
                f"The report has format {d.get('version')} and this package reads {FORMAT_VERSION}: "
                "use the jar that this package carries."
            )
        return cls(
            version=d["version"],
            springbok=d["springbok"],
            spark=d["spark"],
            state=d["state"],
            note=d.get("note"),
            tables=tuple(_make(Table, t) for t in d["tables"]),
            joins=tuple(_make(Join, j) for j in d["joins"]),
            filters=tuple(_make(Filter, f) for f in d["filters"]),
            join_order=tuple(_make(JoinOrder, o) for o in d["join_order"]),
            conjuncts=tuple(_make(Conjuncts, c) for c in d["conjuncts"]),
            failures=tuple(d["failures"]),
            settings=d["settings"],
            strategies=d["strategies"],
            _document=d,
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole document."""
        return json.loads(json.dumps(self._document))  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The whole document as JSON."""
        return json.dumps(self._document, indent=2)

    def __str__(self) -> str:
        from springbok.text import render

        return render(self)

    def _repr_html_(self) -> str:
        from springbok.html import fragment

        return fragment(self)

    def save_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML page and return its path.

        Raises:
            SpringbokError: the path cannot be written.
        """
        from springbok.html import page

        target = Path(path)
        try:
            target.write_text(page(self), encoding="utf-8")
        except OSError as e:
            raise SpringbokError(f"The report cannot be written to {target}: {e.strerror}.") from e
        return target


def report(
    df: DataFrame, *, executors: int | None = None, cores: int | None = None, executor_memory: str | int | None = None
) -> Report:
    """The strategy report of a DataFrame; never runs it.

    After `df.collect()`, `df.toPandas()` or `df.toLocalIterator()` it holds what that run observed. `count()`, `show()`
    and writes plan a query of their own, which this DataFrame's report does not see.

    With `executors`, `cores` (of one executor) or `executor_memory` (such as "32g") it is the report of the query as it
    would be planned on such a cluster; what is not given is as it is in the running one.

    Raises:
        SpringbokError: no classic DataFrame, a streaming one, a stopped session, or a session without Springbok.
    """
    spark = getattr(df, "sparkSession", None)
    if spark is None:
        raise SpringbokError(f"A report is made of a DataFrame, not of a {type(df).__name__}.")
    jvm = _jvm(spark)
    if df.isStreaming:
        raise SpringbokError("A streaming DataFrame has no strategy report: Springbok leaves streaming plans alone.")
    if not is_active(spark):
        raise SpringbokError(
            "This session runs without Springbok: make it with springbok.configure(SparkSession.builder).getOrCreate()."
        )
    shape = {
        "cluster_executors": executors,
        "cluster_coresPerExecutor": cores,
        "cluster_executorMemory": executor_memory,
    }
    wanted = checked({k: v for k, v in shape.items() if v is not None})
    execution = df._jdf.queryExecution()
    reports = jvm.org.apache.spark.sql.springbok.report
    if wanted:
        settings = jvm.java.util.HashMap()
        for key, value in wanted.items():
            settings.put(key, value)
        text = reports.WhatIf.json(execution, settings)
    else:
        text = reports.SpringbokReport.json(execution)
    return Report.from_json(text)


_NESTED: dict[str, Any] = {"reason": Reason, "ruled_out": Reason, "left": Side, "right": Side}
_LISTS: dict[str, Any] = {"alternatives": Alternative, "notes": Reason, "order": Conjunct}


def _make(cls: type[T], d: dict[str, Any]) -> T:
    """The dataclass of a JSON object; fields that it does not know are left out."""
    names = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, v in d.items():
        if key not in names or v is None:
            continue
        if key in _NESTED:
            values[key] = _make(_NESTED[key], v)
        elif key in _LISTS:
            values[key] = tuple(_make(_LISTS[key], x) for x in v)
        else:
            values[key] = tuple(v) if isinstance(v, list) else v
    return cls(**values)
