"""A report as dataclasses: tools/model.py writes them from docs/report.schema.json, which says more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, kw_only=True)
class Query:
    """What tells one query from another."""
    sql: str | None = None
    statement: str
    user: str
    database: str | None = None
    application: str
    fingerprint: str | None = None

@dataclass(frozen=True, kw_only=True)
class Resources:
    """What the plan was made for, and the memory that its joins ask of one executor."""
    executors: int
    cores_per_executor: int
    executor_heap_bytes: int
    driver_heap_bytes: int
    shuffle_partitions: int
    join_memory_per_executor_bytes: float | None = None
    hosts: int | None = None
    tasks_per_executor: int = 1
    execution_memory_bytes: int = 0

@dataclass(frozen=True, kw_only=True)
class Output:
    """A column that the query gives, or that it writes, with the columns of base tables that its values are computed
    from."""
    column: str
    type: str
    sources: tuple[str, ...] = ()

@dataclass(frozen=True, kw_only=True)
class Sink:
    """Where a statement writes: a table, or files at a path."""
    mode: str  # append, overwrite, overwrite part, create, create if absent, replace, create or replace, merge, update, delete
    table: str | None = None
    path: str | None = None
    format: str | None = None
    partition_columns: tuple[str, ...] = ()
    pruning: Reason | None = None

@dataclass(frozen=True, kw_only=True)
class Reason:
    """A code of docs/reasons.md with its numbers. setting is the one that would change it."""
    code: str
    text: str
    setting: str | None = None
    args: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.code}: {self.text}" + (f" [{self.setting}]" if self.setting else "")

@dataclass(frozen=True, kw_only=True)
class Table:
    """A table, once for each time that the query reads it; what ends in _read was observed, and so were the tasks that
    read it."""
    id: int = 0
    name: str | None = None
    qualified_name: str | None = None
    source: str = "other"  # files, connector, hive, cached, other
    format: str
    rows: float | None = None
    rows_source: str  # runtime, analyzed, log, footer, connector, sample, estimated, unknown
    missing_statistics: tuple[str, ...] = ()
    analyze: str | None = None
    slots: tuple[Slot, ...] = ()
    bytes: int
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

@dataclass(frozen=True, kw_only=True)
class Slot:
    """A column that is read, with the distinct values of its table as far as they are known."""
    column: str
    type: str
    distinct: float | None = None

@dataclass(frozen=True, kw_only=True)
class Bucketing:
    """The buckets of a table of files. Rows with equal values in these columns are in one bucket."""
    columns: tuple[str, ...] = ()
    buckets: int
    sorted_by: tuple[str, ...] = ()

@dataclass(frozen=True, kw_only=True)
class Transform:
    """A transform of columns such as bucket(8, id): its name, the columns, its other arguments, and all of it as
    text."""
    name: str
    columns: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    text: str

@dataclass(frozen=True, kw_only=True)
class Fragment:
    """Operators that run together: a query stage."""
    id: int
    kind: str  # shuffle, broadcast, subquery, result
    inputs: tuple[int, ...] = ()
    partitioning: Partitioning
    nodes: tuple[Node, ...] = ()
    exchange: Exchange | None = None

@dataclass(frozen=True, kw_only=True)
class Partitioning:
    """How rows are spread."""
    kind: str  # unpartitioned, random, hash, range, bucketed, broadcast
    keys: tuple[str, ...] = ()
    partitions: int | None = None

@dataclass(frozen=True, kw_only=True)
class Node:
    """An operator; join and filter say which join or runtime filter of the report it is."""
    id: int
    parent: int | None = None
    operator: str
    label: str
    join: int | None = None
    filter: str | None = None
    estimated_rows: float | None = None
    rows: int | None = None
    aggregate: Aggregate | None = None

@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """What an operator aggregates: the keys of its groups, and its functions, each with the phase that it computes."""
    phase: str  # partial, merge, final, complete, mixed
    keys: tuple[str, ...] = ()
    functions: tuple[AggregateFunction, ...] = ()

@dataclass(frozen=True, kw_only=True)
class AggregateFunction:
    """A function, and its phase."""
    function: str
    phase: str  # partial, merge, final, complete

@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Rows on their way to the fragments `to`; bytes are those in memory, written_bytes compressed."""
    partitioning: Partitioning
    to: tuple[int, ...] = ()
    estimated_rows: float | None = None
    estimated_bytes: float | None = None
    rows: int | None = None
    bytes: int | None = None
    written_bytes: int | None = None
    q_error: float | None = None

@dataclass(frozen=True, kw_only=True)
class Join:
    """A join: what Springbok decided (planned), what the plan has (strategy, build, distribution), and why.
    spark_strategy is what Spark alone would plan by the sizes that it knows. revised: the plan had `before` and was
    changed at run time. strategy is None for a join that was optimized away. memory_bytes is what it may take of one
    executor; notes say what else its costs and inputs depend on, and what of the query was ignored."""
    id: int
    type: str
    left_keys: tuple[str, ...] = ()
    right_keys: tuple[str, ...] = ()
    other_conjuncts: str | None = None
    hint: str | None = None
    hint_honoured: bool | None = None
    planned: str | None = None
    spark_strategy: str | None = None
    planned_by_spark: bool
    revised: bool
    before: str | None = None
    reason: Reason | None = None
    notes: tuple[Reason, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    memory_bytes: float | None = None
    left: Side
    right: Side
    node: int | None = None
    fragment: int | None = None
    strategy: str | None = None  # broadcast hash, shuffled hash, sort-merge, broadcast nested loop, cartesian
    build: str | None = None  # left, right
    distribution: str | None = None  # colocate, bucket shuffle, broadcast, partitioned
    estimated_rows: float | None = None
    estimated_bytes: float | None = None
    output_rows: int | None = None
    q_error: float | None = None
    condition: str = ""

    def __str__(self) -> str:
        return f"Join {self.id} ({self.condition})" if self.condition else f"Join {self.id}"

@dataclass(frozen=True, kw_only=True)
class Alternative:
    """A strategy with its cost, the sum of its terms, or why it is ruled out."""
    strategy: str
    cost_bytes: float | None = None
    impala_cost_bytes: float | None = None
    terms: dict[str, float] = field(default_factory=dict)
    ruled_out: Reason | None = None
    text: str = ""

@dataclass(frozen=True, kw_only=True)
class Side:
    """One input of a join: the tables that it reads, by their ids, and where its keys come from; what the decision was
    made from, what was estimated at first, and what was observed. rows, row_bytes and bound_bytes (not exceeded) are
    what the decision was made on. q_error is the factor between estimate and observation."""
    tables: tuple[int, ...] = ()
    keys: tuple[KeyColumn, ...] = ()
    rows: float | None = None
    rows_source: str  # runtime, analyzed, log, footer, connector, sample, estimated, unknown
    row_bytes: float | None = None
    bound_bytes: float | None = None
    partitioned: bool
    exchanged: bool | None = None
    estimated_rows: float | None = None
    estimated_bytes: float | None = None
    observed_rows: int | None = None
    observed_bytes: int | None = None
    q_error: float | None = None

@dataclass(frozen=True, kw_only=True)
class KeyColumn:
    """Where a key of a join comes from: the table, by its id, if it is computed from one only, and the column if it is
    one."""
    table: int | None = None
    column: str | None = None

@dataclass(frozen=True, kw_only=True)
class Filter:
    """A runtime filter, or one that was declined; without an id if it was never placed. rows are those that were tested
    at the scan; waited_ms is the time from the start of the build side's stage to the decision. pushed is how the scan
    itself was told of it, not_pushed why it was not."""
    id: str | None = None
    join: int
    source: str
    target_table: str | None = None
    target_column: str | None = None
    target_id: int | None = None
    from_fragment: int | None = None
    to_fragments: tuple[int, ...] = ()
    status: str  # placed, used, unused, declined
    reason: Reason
    kinds: tuple[str, ...] = ()
    pushed: str | None = None  # files, partitions, connector, rebuilt, query
    not_pushed: Reason | None = None
    expected_retained: float | None = None
    timing: str | None = None  # waits, local, late
    expected_benefit_ms: float | None = None
    expected_idle_ms: float | None = None
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
    scope: str | None = None  # local, global
    arrived_ms: int | None = None
    tasks_tested: int | None = None
    tasks_untested: int | None = None
    name: str = ""
    effect: str = ""

@dataclass(frozen=True, kw_only=True)
class JoinOrder:
    """An order of joins that was considered; best is the cheapest one found where the query's own stays; ms of one
    core."""
    relations: int
    before: str
    after: str | None = None
    best: str | None = None
    cost_before_ms: float | None = None
    cost_after_ms: float | None = None
    reason: Reason

@dataclass(frozen=True, kw_only=True)
class EagerAggregation:
    """An aggregate above joins, by its keys; below names the relations whose rows each task aggregates before they are
    joined with the others, retained the rows that are expected to be left."""
    groups: str
    below: str | None = None
    rows: float | None = None
    retained: float | None = None
    reason: Reason

@dataclass(frozen=True, kw_only=True)
class Conjuncts:
    """The conjuncts of a filter or join in their order; costs in ns a row."""
    operator: str
    changed: bool
    cost_before: float
    cost_after: float
    order: tuple[Conjunct, ...] = ()

@dataclass(frozen=True, kw_only=True)
class Conjunct:
    """A conjunct: its cost in ns a row, the fraction of the rows that it retains, whether it may raise an error."""
    condition: str
    cost: float
    selectivity: float | None = None
    may_raise: bool

@dataclass(frozen=True, kw_only=True)
class Saved:
    """What the runtime filters of a finished query saved, by estimate: rows in row groups that scans skipped, rows that
    were tested and removed, bytes in memory that no shuffle had to move, and ms of one core by the cost model."""
    rows_not_read: int
    rows_removed: int
    bytes_not_shuffled: int
    core_ms: float

@dataclass(frozen=True, kw_only=True)
class Execution:
    """The run that was observed: its number in Spark's SQL tab, its action, its start in ms since 1970, and where it
    was called if it has no job description."""
    id: int
    action: str
    start_ms: int
    duration_ms: int
    call_site: str | None = None
    job_description: str | None = None
    job_group: str | None = None

@dataclass(frozen=True, kw_only=True)
class Texts:
    """The report in words: the query in one line, a summary on one screen, and the whole report."""
    query: str
    summary: str
    whole: str

@dataclass(frozen=True, kw_only=True)
class ReportData:
    """Springbok strategy report. Rows and bytes are those of a whole operator over all tasks; bytes in memory unless it
    says otherwise. predicate_sources are the columns of tables that decide which rows output has: those of conditions
    and of keys."""
    FORMAT: ClassVar[int] = 3
    version: int
    springbok: str
    spark: str
    state: str  # planned, executed, shadow
    query: Query
    note: str | None = None
    resources: Resources
    output: tuple[Output, ...] = ()
    predicate_sources: tuple[str, ...] = ()
    sink: Sink | None = None
    tables: tuple[Table, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    joins: tuple[Join, ...] = ()
    filters: tuple[Filter, ...] = ()
    join_order: tuple[JoinOrder, ...] = ()
    eager_aggregation: tuple[EagerAggregation, ...] = ()
    conjuncts: tuple[Conjuncts, ...] = ()
    failures: tuple[dict[str, str], ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    effective: dict[str, str] = field(default_factory=dict)
    strategies: dict[str, int] = field(default_factory=dict)
    saved: Saved | None = None
    execution: Execution | None = None
    texts: Texts | None = None
