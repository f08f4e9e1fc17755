"""The whole document of a report, and of a comparison."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from springbok.errors import SpringbokError
from springbok.model.decisions import Conjuncts, Filter, Join, JoinOrder, Reason
from springbok.model.plan import Fragment, Output, Sink, Table

FORMAT_VERSION = 3
R = TypeVar("R", bound="ReportData")


@dataclass(frozen=True)
class Resources:
    """What the plan was made for, and the execution memory that its joins may take of one executor.

    `hosts` run the executors. `execution_memory_bytes` is what Spark's memory manager shares among the tasks of an
    executor and its cached blocks.
    """

    executors: int
    cores_per_executor: int
    executor_heap_bytes: int
    driver_heap_bytes: int
    shuffle_partitions: int
    join_memory_per_executor_bytes: float | None = None
    hosts: int | None = None
    tasks_per_executor: int = 1
    execution_memory_bytes: int = 0


@dataclass(frozen=True)
class Query:
    """Which query it is: its SQL text if it has one, the kind of its statement, and who planned it where."""

    statement: str
    user: str
    application: str
    sql: str | None = None
    database: str | None = None


@dataclass(frozen=True)
class Execution:
    """The run that was observed: its number in Spark's SQL tab, its action, and its start in ms since 1970.

    `call_site` is where the action was called, if the run has no job description.
    """

    id: int
    action: str
    start_ms: int
    duration_ms: int
    call_site: str | None = None
    job_description: str | None = None
    job_group: str | None = None


@dataclass(frozen=True)
class Saved:
    """What the runtime filters of a finished query saved, by estimate.

    Rows in row groups that scans skipped, rows that were tested and removed, bytes in memory that no shuffle had to
    move, and ms of one core by the cost model.
    """

    rows_not_read: int
    rows_removed: int
    bytes_not_shuffled: int
    core_ms: float


@dataclass(frozen=True)
class ReportData:
    """The strategy report of one query; `state` is planned or executed.

    `settings` are those that differ from their defaults, `effective` the values of some that decide what joins and
    filters may do, whether they are set or not.
    `predicate_sources` are the columns of tables that decide which rows `output` has: those of conditions and of keys.
    """

    version: int
    springbok: str
    spark: str
    state: str
    query: Query
    resources: Resources
    tables: tuple[Table, ...]
    fragments: tuple[Fragment, ...]
    joins: tuple[Join, ...]
    filters: tuple[Filter, ...]
    join_order: tuple[JoinOrder, ...]
    conjuncts: tuple[Conjuncts, ...]
    failures: tuple[dict[str, str], ...]
    settings: dict[str, str]
    strategies: dict[str, int]
    _document: dict[str, Any] = field(repr=False, compare=False)
    note: str | None = None
    execution: Execution | None = None
    saved: Saved | None = None
    effective: dict[str, str] = field(default_factory=dict)
    output: tuple[Output, ...] = ()
    predicate_sources: tuple[str, ...] = ()
    sink: Sink | None = None

    @classmethod
    def from_json(cls: type[R], text: str) -> R:
        """Parse the JVM's document.

        Raises:
            SpringbokError: the document has another version of the format.
        """
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls: type[R], d: dict[str, Any]) -> R:
        """The same for a parsed document."""
        if d.get("version") != FORMAT_VERSION:
            raise SpringbokError(
                f"The report has format {d.get('version')} and this package reads {FORMAT_VERSION}: "
                "use the jar that this package carries."
            )
        report: R = _decoded(cls, {**d, "_document": d})
        return report

    def to_dict(self) -> dict[str, Any]:
        """The whole document."""
        return json.loads(json.dumps(self._document))  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The whole document as JSON."""
        return json.dumps(self._document, indent=2)


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
class ComparisonData:
    """Both reports; times in seconds of one run each and whether the answers are equal, where they were run."""

    off: ReportData
    on: ReportData
    joins: tuple[JoinChange, ...]
    seconds_off: float | None = None
    seconds_on: float | None = None
    equal: bool | None = None


@cache
def _types(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields."""
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)}


def _decoded(kind: Any, value: Any) -> Any:
    """A JSON value as its field's type says; fields that a dataclass does not know are left out."""
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        return kind(**{k: _decoded(types[k], v) for k, v in value.items() if k in types and v is not None})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(_decoded(arguments[0], v) for v in value)
    if origin in (Union, UnionType):  # `X | None`
        return _decoded(arguments[0], value)
    return value
