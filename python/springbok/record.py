"""The strategy report of a query as frozen dataclasses; docs/report.schema.json describes the document."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from springbok.errors import SpringbokError

if TYPE_CHECKING:
    import pandas as pd

FORMAT_VERSION = 2
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
class Slot:
    """A column that is read, with the distinct values of its table as far as they are known."""

    column: str
    type: str
    distinct: float | None = None


@dataclass(frozen=True)
class Table:
    """A table, once for each time that the query reads it.

    `rows_source` is analyzed, footer, runtime, estimated or unknown; `missing_statistics` is ("rows",), or the join
    columns whose distinct values are unknown. What ends in `_read` was observed.
    """

    name: str | None
    format: str
    bytes: float
    rows_source: str
    rows: float | None = None
    missing_statistics: tuple[str, ...] = ()
    slots: tuple[Slot, ...] = ()
    files: int | None = None
    footers_read: int | None = None
    partitions: int | None = None
    partitions_read: int | None = None
    files_read: int | None = None
    bytes_read: int | None = None
    rows_read: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return tuple(s.column for s in self.slots)


@dataclass(frozen=True)
class Partitioning:
    """How rows are spread: unpartitioned, random, hash, range, bucketed or broadcast."""

    kind: str
    keys: tuple[str, ...] = ()
    partitions: int | None = None

    def __str__(self) -> str:
        keys = f" on {', '.join(self.keys)}" if self.keys else ""
        return f"{self.kind}{keys}" + (f", {self.partitions} partitions" if self.partitions else "")


@dataclass(frozen=True)
class Exchange:
    """Rows on their way to the fragments `to`; bytes are those in memory, `written_bytes` compressed."""

    partitioning: Partitioning
    to: tuple[int, ...]
    estimated_rows: float | None = None
    estimated_bytes: float | None = None
    rows: int | None = None
    bytes: int | None = None
    written_bytes: int | None = None
    q_error: float | None = None


@dataclass(frozen=True)
class Node:
    """An operator; `join` and `filter` say which join or runtime filter of the report it is."""

    id: int
    operator: str
    label: str
    parent: int | None = None
    join: int | None = None
    filter: str | None = None
    estimated_rows: float | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Fragment:
    """Operators that run together: a query stage. `kind` is where the rows go; `inputs` are the fragments it reads."""

    id: int
    kind: str
    inputs: tuple[int, ...]
    partitioning: Partitioning
    nodes: tuple[Node, ...]
    exchange: Exchange | None = None


@dataclass(frozen=True)
class Side:
    """One input of a join.

    `rows`, `row_bytes` and `bound_bytes` (not exceeded) are what the decision was made on; `estimated_rows` is what was
    estimated at first, `q_error` the factor between that and what was observed.
    """

    rows_source: str
    partitioned: bool
    rows: float | None = None
    row_bytes: float | None = None
    bound_bytes: float | None = None
    exchanged: bool | None = None
    estimated_rows: float | None = None
    estimated_bytes: float | None = None
    observed_rows: int | None = None
    observed_bytes: int | None = None
    q_error: float | None = None


@dataclass(frozen=True)
class Alternative:
    """A strategy with its cost in bytes and the terms that it is the sum of, or why it is ruled out."""

    strategy: str
    terms: dict[str, float]
    cost_bytes: float | None = None
    ruled_out: Reason | None = None


@dataclass(frozen=True)
class Join:
    """A join: what Springbok decided (`planned`), what the plan has (`strategy`, `build`, `distribution`), and why.

    `revised`: the plan had `before` and was changed at run time. `strategy` is None for a join that was optimized away.
    `memory_bytes` is what it may take of one executor; `notes` say what else its costs and inputs depend on, and what
    of the query was ignored.
    """

    id: int
    type: str
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    revised: bool
    planned_by_spark: bool
    left: Side
    right: Side
    other_conjuncts: str | None = None
    hint: str | None = None
    hint_honoured: bool | None = None
    planned: str | None = None
    before: str | None = None
    strategy: str | None = None
    build: str | None = None
    distribution: str | None = None
    reason: Reason | None = None
    notes: tuple[Reason, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    memory_bytes: float | None = None
    node: int | None = None
    fragment: int | None = None
    estimated_rows: float | None = None
    estimated_bytes: float | None = None
    output_rows: int | None = None
    q_error: float | None = None


@dataclass(frozen=True)
class Filter:
    """A runtime filter, or one that was declined (`id` is None where it was never placed).

    `status` is placed, used, unused or declined; rows are those that were tested at the scan; `waited_ms` is the time
    from the start of the build side's stage to the decision, for which the scan had to wait.
    """

    join: int
    source: str
    status: str
    reason: Reason
    id: str | None = None
    target_table: str | None = None
    target_column: str | None = None
    from_fragment: int | None = None
    to_fragments: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    expected_kept: float | None = None
    build_rows: int | None = None
    build_keys: int | None = None
    bytes: int | None = None
    false_positive_rate: float | None = None
    waited_ms: int | None = None
    rows_in: int | None = None
    rows_removed: int | None = None
    row_groups: int | None = None
    row_groups_removed: int | None = None
    files: int | None = None
    files_read: int | None = None
    scan_rows: int | None = None
    pauses: int | None = None
    switched_off: bool | None = None


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
class Resources:
    """What the plan was made for, and the execution memory that its joins may take of one executor."""

    executors: int
    cores_per_executor: int
    executor_heap_bytes: int
    driver_heap_bytes: int
    shuffle_partitions: int
    join_memory_per_executor_bytes: float | None = None


@dataclass(frozen=True)
class Execution:
    """The run that was observed, if it was not the DataFrame's own: its number in Spark's SQL tab, and its action."""

    id: int
    action: str
    duration_ms: int


@dataclass(frozen=True)
class Report:
    """The strategy report of one query; `state` is planned or executed."""

    version: int
    springbok: str
    spark: str
    state: str
    note: str | None
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
    execution: Execution | None = None

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Parse the JVM's document.

        Raises:
            SpringbokError: a document of another version of the format.
        """
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> Report:
        """The same of the parsed document."""
        if d.get("version") != FORMAT_VERSION:
            raise SpringbokError(
                f"The report has format {d.get('version')} and this package reads {FORMAT_VERSION}: "
                "use the jar that this package carries."
            )
        return _make(cls, {"note": None, **d, "_document": d})

    def to_dict(self) -> dict[str, Any]:
        """The whole document."""
        return json.loads(json.dumps(self._document))  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The whole document as JSON."""
        return json.dumps(self._document, indent=2)

    def to_pandas(self, part: str = "joins") -> pd.DataFrame:
        """One part (joins, filters, tables, fragments, ...) as a pandas DataFrame, nested fields as `left.rows`.

        Raises:
            SpringbokError: pandas is not installed, or there is no such part.
        """
        try:
            import pandas as pd
        except ImportError as e:
            raise SpringbokError("to_pandas() needs pandas: pip install pandas.") from e
        items = getattr(self, part, None)
        if not isinstance(items, tuple):
            parts = ", ".join(f.name for f in fields(self) if isinstance(getattr(self, f.name), tuple))
            raise SpringbokError(f"The report has no part {part!r}: choose among {parts}.")
        return pd.json_normalize([i if isinstance(i, dict) else asdict(i) for i in items])

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


# What a field of this name holds: one of these, or a list of them.
_NESTED: dict[str, type[Any]] = {
    "reason": Reason,
    "ruled_out": Reason,
    "notes": Reason,
    "left": Side,
    "right": Side,
    "resources": Resources,
    "partitioning": Partitioning,
    "exchange": Exchange,
    "execution": Execution,
    "alternatives": Alternative,
    "slots": Slot,
    "nodes": Node,
    "tables": Table,
    "fragments": Fragment,
    "joins": Join,
    "filters": Filter,
    "join_order": JoinOrder,
    "conjuncts": Conjuncts,
    "order": Conjunct,
}


def _make(cls: type[T], d: dict[str, Any]) -> T:
    """The dataclass of a JSON object; fields that it does not know are left out."""
    names = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    return cls(**{k: _value(k, v) for k, v in d.items() if k in names and (v is not None or k == "note")})


def _value(name: str, v: Any) -> Any:
    kind = _NESTED.get(name)
    if isinstance(v, list):
        return tuple(_make(kind, i) if kind else i for i in v)
    return _make(kind, v) if kind else v
