"""What was decided about joins, runtime filters, conjuncts and the order of joins, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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
class KeyColumn:
    """Where a key of a join comes from: the id of its table if it is one, and the column if the key is one."""

    table: int | None = None
    column: str | None = None


@dataclass(frozen=True)
class Side:
    """One input of a join: the ids of the tables that it reads, and where its keys come from.

    `rows`, `row_bytes` and `bound_bytes` (not exceeded) are what the decision was made on; `estimated_rows` is what was
    estimated at first, `q_error` the factor between that and what was observed.
    """

    rows_source: str
    partitioned: bool
    tables: tuple[int, ...] = ()
    keys: tuple[KeyColumn, ...] = ()
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
    """A strategy with its cost in bytes and the terms that it is the sum of, or why it is ruled out.

    `impala_cost_bytes` is what Impala's own formula gives for a broadcast.
    """

    strategy: str
    terms: dict[str, float]
    cost_bytes: float | None = None
    impala_cost_bytes: float | None = None
    ruled_out: Reason | None = None


@dataclass(frozen=True)
class Join:
    """A join: what Springbok decided (`planned`), what the plan has (`strategy`, `build`, `distribution`), and why.

    `spark_strategy` is what Spark alone would plan by the sizes that it knows.
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
    spark_strategy: str | None = None
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
    from the start of the build side's stage to the decision, for which the scan had to wait. `pushed` is how the scan
    itself was told of it (files, partitions, connector, rebuilt, query), `not_pushed` why it was not. `target_id` is
    the id of the target table. `timing` is waits, local (the scan is in the stage of a broadcast join, which starts
    after the build side anyway) or late. The expected times are those of all cores: what the key's filters save, and
    what is lost by waiting.
    Its `scope` is local if it stays in the fragment of its join, otherwise global. A late filter arrived `arrived_ms`
    after its scan began; some of the scan's tasks tested their rows by it, others did not.
    """

    join: int
    source: str
    status: str
    reason: Reason
    id: str | None = None
    target_table: str | None = None
    target_column: str | None = None
    target_id: int | None = None
    from_fragment: int | None = None
    to_fragments: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    pushed: str | None = None
    not_pushed: Reason | None = None
    expected_retained: float | None = None
    timing: str | None = None
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
    scope: str | None = None
    arrived_ms: int | None = None
    tasks_tested: int | None = None
    tasks_untested: int | None = None


@dataclass(frozen=True)
class Conjunct:
    """A conjunct: its cost in ns a row, the fraction of the rows that it retains, whether it may raise an error."""

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
    """An order of joins: the query's, the one put in its place or why not; costs are expected ms of one core.

    `best` is the cheapest order found, where the query's own stays.
    """

    relations: int
    before: str
    reason: Reason
    after: str | None = None
    best: str | None = None
    cost_before_ms: float | None = None
    cost_after_ms: float | None = None
