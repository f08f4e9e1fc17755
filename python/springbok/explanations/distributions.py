"""Why a join has to send rows that its tables might store together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from springbok.explanations.question import Answer, Question, full_name, label, largest, listed
from springbok.explanations.strategies import hint, would_cost
from springbok.model import Alternative, Join, Side, Table
from springbok.render.words import strategy

if TYPE_CHECKING:
    from collections.abc import Callable

_BUCKETING = "spark.sql.sources.bucketing.enabled"
_STORAGE = "spark.sql.sources.v2.bucketing.enabled"
_ALIGNED = "spark.sql.sources.v2.bucketing.pushPartValues.enabled"
_SEND_TO_STORED = "spark.sql.sources.v2.bucketing.shuffle.enabled"
_ICEBERG = "spark.sql.iceberg.planning.preserve-data-grouping"
_ALL_KEYS = "spark.sql.requireAllClusterKeysForCoPartition"
# Strategies whose rows meet in partitions by key.
_BY_KEY = ("shuffled hash", "sort-merge")


@dataclass(frozen=True)
class Layout:
    """How the table of a side stores its rows, as far as the join could use it.

    `keys` are the join's keys and `columns` those of them that are columns. `by` are the columns of buckets, or
    transforms; `positions` the keys that they are of, -1 for another column.
    `parts` is the number of buckets, or of the partitions that a scan reports.
    """

    table: Table | None
    keys: tuple[str, ...]
    columns: tuple[str | None, ...]
    by: tuple[str, ...] = ()
    functions: tuple[tuple[str, ...], ...] = ()
    positions: tuple[int, ...] = ()
    parts: int | None = None

    @property
    def buckets(self) -> bool:
        """Whether the table has buckets."""
        return bool(self.by) and not self.functions

    @property
    def unreported(self) -> bool:
        """Whether a connector stores rows together and does not tell Spark."""
        return bool(self.functions) and self.parts is None

    def serves(self, *, all_keys: bool) -> bool:
        """Whether rows with equal keys lie together."""
        found = bool(self.by) and not self.unreported and -1 not in self.positions
        return found and (not all_keys or set(self.positions) == set(range(len(self.keys))))

    def meets(self, other: Layout, *, aligned: bool) -> bool:
        """Whether rows of both that may match lie in the same part."""
        same = self.positions == other.positions and self.functions == other.functions
        return same and (self.parts == other.parts or (bool(self.functions) and aligned))

    def __str__(self) -> str:
        keys = listed(self.keys)
        if self.table is None:
            return f"{keys} is not read from one table"
        name, what = full_name(self.table), listed(self.by)
        if self.functions:
            parts = f" in {self.parts} partitions" if self.parts is not None else ", and its scan reports no partitions"
            return f"{name} is stored by {what}{parts}"
        if self.by:
            return f"{name} has {self.parts} buckets by {what}"
        return f"{name} is {'stored by no transform' if self.table.source == 'connector' else 'not bucketed'}"


def _layout(q: Question, side: Side, labels: tuple[str, ...]) -> Layout:
    table = q.compared_table(side)
    columns = tuple(k.column for k in side.keys)
    names = [(c or "").lower() for c in columns]

    def positions(of: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(names.index(c.lower()) if c.lower() in names else -1 for c in of)

    if table and table.bucketing:
        by = table.bucketing.columns
        return Layout(table, labels, columns, by, (), positions(by), table.bucketing.buckets)
    if table and table.stored_by:
        first = tuple(t.columns[0] if len(t.columns) == 1 else "" for t in table.stored_by)
        functions = tuple((t.name, *t.arguments) for t in table.stored_by)
        texts = tuple(t.text for t in table.stored_by)
        return Layout(table, labels, columns, texts, functions, positions(first), table.stored_partitions)
    return Layout(table, labels, columns)


@dataclass(frozen=True)
class _Case:
    """A join that might send fewer rows."""

    q: Question
    join: Join
    left: Layout
    right: Layout

    @classmethod
    def of(cls, q: Question, j: Join) -> _Case:
        return cls(q, j, _layout(q, j.left, j.left_keys), _layout(q, j.right, j.right_keys))

    @property
    def both(self) -> tuple[Layout, Layout]:
        return self.left, self.right

    def is_set(self, key: str) -> bool:
        """Whether a flag is on; a setting that the report does not have counts as off."""
        return (self.q.report.effective.get(key) or "false").lower() == "true"

    def serving(self) -> list[Layout]:
        return [s for s in self.both if s.serves(all_keys=self.is_set(_ALL_KEYS))]

    def off(self) -> str | None:
        """The setting that switches the layouts off."""
        if any(s.buckets for s in self.both) and not self.is_set(_BUCKETING):
            return _BUCKETING
        return _STORAGE if any(s.functions for s in self.both) and not self.is_set(_STORAGE) else None

    def meets(self) -> bool:
        aligned = self.is_set(_ALIGNED)
        return len(self.serving()) == 2 and self.left.meets(self.right, aligned=aligned)


def _answer(wanted: str, q: Question) -> Answer:
    joins = q.joins()
    if not joins:
        return q.no_join()
    others = [j for j in joins if j.distribution not in (wanted, "colocate")]
    if not others:
        had = " and ".join(sorted({str(j.distribution) for j in joins}))
        return Answer(f"It has: every join{q.where} is {had}")
    j = largest([j for j in others if j.left_keys] or others)
    name = f"{label(j)} is {j.distribution} and not {wanted} because "
    if not j.left_keys:
        return Answer(
            f"{name}it has no equality, so no key says where rows meet", "an equality in the join's condition"
        )
    case = _Case.of(q, j)
    because, suggestion = _colocate(case) if wanted == "colocate" else _bucket_shuffle(case)
    return Answer(name + because, suggestion)


def _colocate(c: _Case) -> tuple[str, str | None]:
    sides = f"{c.left} and {c.right}"
    if setting := c.off():
        return f"{sides}, but {setting} is false", f"SET {setting}=true"
    if c.meets():
        return f"{sides}, but {_unused(c)}", _by_key_hint(c)
    return sides + _mismatch(c), _same_layout(c)


def _bucket_shuffle(c: _Case) -> tuple[str, str | None]:
    sides = f"{c.left} and {c.right}"
    if setting := c.off():
        return f"{sides}, but {setting} is false", f"SET {setting}=true"
    serving = c.serving()
    if any(s.functions for s in serving):
        return f"{sides}, and Spark sends no rows to where a connector stores others", f"SET {_SEND_TO_STORED}=true"
    if serving:
        return f"{sides}, but {_unused(c)}", _by_key_hint(c)
    larger = c.left if (c.join.left.rows or 0) >= (c.join.right.rows or 0) else c.right
    return sides + _mismatch(c), _stored_like(larger, c.q.report.resources.shuffle_partitions)


def _mismatch(c: _Case) -> str:
    """What keeps the layouts from serving the join, as the end of a sentence."""
    serving = c.serving()
    useless = [s for s in c.both if s.by and not s.unreported and s not in serving]
    if useless:
        return f", which is not by the join's keys {listed(useless[0].keys)}"
    if len(serving) == 2 and c.left.parts != c.right.parts:
        return ": the numbers differ"
    return ": that is not the same layout" if len(serving) == 2 else ""


def _unused(c: _Case) -> str:
    """Why a layout that serves is not used."""
    if strategy(c.join).startswith(_BY_KEY):
        return "what the query computes between scan and join does not keep that layout"
    best = _cheapest_by_key(c)
    if best is None or best.cost_bytes is None:
        return f"a {c.join.strategy} join makes no use of it"
    return f"a {best.strategy} join, which uses it, {would_cost(c.join, best)}"


def _cheapest_by_key(c: _Case) -> Alternative | None:
    found = [a for a in c.join.alternatives if a.strategy.startswith(_BY_KEY) and a.ruled_out is None]
    return min(found, key=lambda a: a.cost_bytes or 0, default=None)


def _by_key_hint(c: _Case) -> str | None:
    best = _cheapest_by_key(c)
    return hint(c.q, c.join, best) if best else None


def _same_layout(c: _Case) -> str | None:
    """The statements that store both tables alike, in as many parts as the one has that serves already."""
    if any(s.unreported for s in c.both):
        return f"the connector's own setting for it, such as {_ICEBERG}=true of Iceberg"
    serving = [s for s in c.serving() if s.buckets and s.parts]
    parts = max((s.parts or 0 for s in serving), default=c.q.report.resources.shuffle_partitions)
    changed = [s for s in c.both if s not in serving or s.parts != parts]
    statements = [_stored_like(s, parts) for s in changed]
    return "; ".join(t for t in statements if t) if all(statements) else None


def _stored_like(s: Layout, parts: int) -> str | None:
    """What stores a table by the join's keys: a statement, if the table has a name in a catalog."""
    t, columns = s.table, [_quoted(c) for c in s.columns if c]
    if t is None or len(columns) < len(s.keys):
        return None
    buckets = f"CLUSTERED BY ({', '.join(columns)}) INTO {parts} BUCKETS"
    if t.qualified_name is None:
        return f"{full_name(t)} as a table {buckets}"
    copy = f"{t.qualified_name.rstrip('`')}_by_{'_'.join(c.strip('`') for c in columns)}"
    copy += "`" if copy.count("`") % 2 else ""
    rows = f"AS SELECT * FROM {t.qualified_name}"
    if t.source == "connector":
        transforms = ", ".join(f"bucket({parts}, {c})" for c in columns)
        return f"CREATE TABLE {copy} PARTITIONED BY ({transforms}) {rows}"
    # Formats such as Delta have no buckets.
    using = "orc" if t.format.lower() == "orc" else "parquet"
    return f"CREATE TABLE {copy} USING {using} {buckets} {rows}"


def _quoted(column: str) -> str:
    return column if column.replace("_", "").isalnum() else f"`{column.replace('`', '``')}`"


ANSWERS: dict[str, Callable[[Question], Answer]] = {w: partial(_answer, w) for w in ("colocate", "bucket shuffle")}
