"""Tables and fragments of a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """A column that is read, with the distinct values of its table as far as they are known."""

    column: str
    type: str
    distinct: float | None = None


@dataclass(frozen=True)
class Bucketing:
    """The buckets of a table of files. Rows with equal values in these columns are in one bucket."""

    columns: tuple[str, ...]
    buckets: int
    sorted_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Transform:
    """A transform of columns such as `bucket(8, id)`: its name, the columns, its other arguments, and all as text."""

    name: str
    columns: tuple[str, ...]
    arguments: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Output:
    """A column that the query gives or writes; `sources` are the columns of tables that its values come from."""

    column: str
    type: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sink:
    """Where a statement writes: a table, or files at a path.

    `mode` is append, overwrite, overwrite part (partitions, or rows of a condition), create, create if absent, replace,
    create or replace, merge, update or delete.
    """

    mode: str
    table: str | None = None
    path: str | None = None
    format: str | None = None
    partition_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table, once for each time that the query reads it.

    `id` is its position. `qualified_name` is its name in a catalog as SQL takes it. `source` is files, connector, hive,
    cached or other. `stored_by` are the transforms by which a connector stores its rows together, `stored_partitions`
    the number of partitions that its scan reports by them.
    `rows_source` is analyzed, log, footer, connector, runtime, estimated or unknown. `missing_statistics` are the join
    columns whose distinct values are unknown.
    `analyze` is the SQL statement that collects what is missing, for a table of the session catalog.
    `partition_filters` and `pushed_filters` are the query's conditions that its scan is told of (of a connector: those
    that it evaluates alone), `runtime_filters` ids. `scan` is what a connector says of its scan. What ends in `_read`
    was observed, and so were the `tasks` of its scan.
    """

    format: str
    bytes: int
    rows_source: str
    id: int = 0
    source: str = "other"
    name: str | None = None
    qualified_name: str | None = None
    rows: float | None = None
    missing_statistics: tuple[str, ...] = ()
    analyze: str | None = None
    slots: tuple[Slot, ...] = ()
    bucketing: Bucketing | None = None
    stored_by: tuple[Transform, ...] = ()
    stored_partitions: int | None = None
    partition_filters: tuple[str, ...] = ()
    pushed_filters: tuple[str, ...] = ()
    runtime_filters: tuple[str, ...] = ()
    scan: str | None = None
    files: int | None = None
    footers_read: int | None = None
    partitions: int | None = None
    partitions_read: int | None = None
    files_read: int | None = None
    bytes_read: int | None = None
    rows_read: int | None = None
    tasks: int | None = None

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
class AggregateFunction:
    """A function, and its phase: partial, merge, final or complete."""

    function: str
    phase: str


@dataclass(frozen=True)
class Aggregate:
    """What an operator aggregates; `phase` is that of all its functions, or mixed."""

    phase: str
    keys: tuple[str, ...] = ()
    functions: tuple[AggregateFunction, ...] = ()


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
    aggregate: Aggregate | None = None


@dataclass(frozen=True)
class Fragment:
    """Operators that run together: a query stage. `kind` is where the rows go; `inputs` are the fragments it reads."""

    id: int
    kind: str
    inputs: tuple[int, ...]
    partitioning: Partitioning
    nodes: tuple[Node, ...]
    exchange: Exchange | None = None
