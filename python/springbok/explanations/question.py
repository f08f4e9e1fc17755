"""A question about a query, and its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from springbok.errors import SpringbokError
from springbok.model import Filter, Join, Reason, ReportData, Side, Table
from springbok.render.words import keys


@dataclass(frozen=True)
class Answer:
    """One sentence, and what would make possible what was asked for."""

    because: str
    suggestion: str | None = None

    def __str__(self) -> str:
        because = self.because if self.because.endswith(".") else self.because + "."
        return because + (f" To get it: {self.suggestion.rstrip(';.')}." if self.suggestion else "")


@dataclass(frozen=True)
class Question:
    """What is asked about: a report, and a table by its ids and its name; None is the whole query."""

    report: ReportData
    tables: frozenset[int] | None = None
    name: str | None = None

    @classmethod
    def about(cls, r: ReportData, table: str | None) -> Question:
        """A question about this table.

        Raises:
            SpringbokError: the query reads no such table, or two of this name.
        """
        if table is None:
            return cls(r)
        found = [t for t in r.tables if _is_named(t, table)]
        if not found:
            names = ", ".join(sorted({full_name(t) for t in r.tables if t.name})) or "none"
            raise SpringbokError(f"The query reads no table {table!r}; it reads {names}.")
        different = sorted({full_name(t) for t in found})
        if len(different) > 1:
            raise SpringbokError(f"{table!r} is the name of several tables: ask for one of {', '.join(different)}.")
        return cls(r, frozenset(t.id for t in found), different[0])

    @property
    def where(self) -> str:
        """The table as a part of a sentence."""
        return f" on {self.name}" if self.name else ""

    def joins(self) -> list[Join]:
        """The joins of the plan that are asked about."""
        return [j for j in self.report.joins if j.strategy and (self.tables is None or self.tables & _compared(j))]

    def filters(self) -> list[Filter]:
        """The filters that are asked about: those on the table's scans, and those that its joins have not got."""
        if self.tables is None:
            return list(self.report.filters)
        joins = {j.id for j in self.joins()}
        return [
            f
            for f in self.report.filters
            if (f.target_id in self.tables if f.target_id is not None else f.target_table is None and f.join in joins)
        ]

    def no_join(self) -> Answer:
        """There is nothing to ask about."""
        return Answer(f"The plan has no join{self.where}" + (f": {self.report.note}" if self.report.note else "."))

    def table(self, number: int | None) -> Table | None:
        """A table by its id."""
        return next((t for t in self.report.tables if t.id == number), None)

    def compared_table(self, side: Side) -> Table | None:
        """The table that all keys of a side come from, or the only one that a side without keys reads."""
        found = {k.table for k in side.keys} if side.keys else set(side.tables)
        return self.table(next(iter(found))) if len(found) == 1 else None


def largest(joins: Iterable[Join]) -> Join:
    """The join that people ask about."""
    return max(joins, key=lambda j: sum(s.rows or 0 for s in (j.left, j.right)))


def label(j: Join) -> str:
    """A join as the subject of a sentence."""
    return f"Join {j.id} ({keys(j)})"


def full_name(t: Table) -> str:
    """The name that tells a table from others."""
    return t.qualified_name or t.name or "?"


def explained(reason: Reason) -> str:
    """A reason with its code, which docs/reasons.md explains."""
    setting = f", {reason.setting} would change it" if reason.setting else ""
    return f"{reason.text} ({reason.code}{setting})"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`."""
    return " and ".join(words)


def _is_named(t: Table, name: str) -> bool:
    asked, full = _parts(name), _parts(full_name(t))
    return t.name == name or full[-len(asked) :] == asked


def _parts(name: str) -> list[str]:
    return [
        (quoted.replace("``", "`") or plain).lower() for quoted, plain in re.findall(r"`((?:[^`]|``)+)`|([^.`]+)", name)
    ]


def _compared(j: Join) -> set[int]:
    found = {k.table for s in (j.left, j.right) for k in s.keys if k.table is not None}
    return found or {*j.left.tables, *j.right.tables}
