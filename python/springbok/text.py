"""Reports as text, readable at 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from springbok.report import Alternative, Conjuncts, Filter, Join, JoinOrder, Report, Table

WIDTH = 100


def amount(n: float | None, *, unknown: str = "unknown") -> str:
    """A number of rows: 1,234 or 1.23 M."""
    if n is None:
        return unknown
    if n < 100_000:
        return f"{n:,.0f}"
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if n >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n:,.0f}"


def size(n: float | None) -> str:
    """A number of bytes: 12 B, 3.4 MB."""
    if n is None:
        return "unknown"
    units = ("B", "KB", "MB", "GB", "TB", "PB")
    i = 0
    while n >= 1024 and i < len(units) - 1:
        n /= 1024
        i += 1
    return f"{n:,.0f} B" if i == 0 else f"{n:,.1f} {units[i]}"


def keys(j: Join) -> str:
    """The equalities of a join."""
    return " AND ".join(f"{a} = {b}" for a, b in zip(j.left_keys, j.right_keys, strict=True)) or "no equality"


def strategy(j: Join) -> str:
    """What executes the join, as the plan has it."""
    name = j.strategy or (j.planned or "undecided")
    return name + (f", build {j.build}" if j.strategy and j.build else "")


def cost(a: Alternative) -> str:
    """What an alternative costs, or why it is ruled out."""
    return f"{a.strategy}: " + (f"ruled out, {a.ruled_out}" if a.ruled_out else f"costs {size(a.cost_bytes)}")


def effect(f: Filter) -> str:
    """What a filter did, or is."""
    parts = []
    if f.build_keys is not None:
        parts.append(f"built from {amount(f.build_keys)} keys")
    if f.bytes:
        parts.append(size(f.bytes))
    if f.rows_in:
        parts.append(f"removed {amount(f.rows_removed)} of {amount(f.rows_in)} rows")
    if f.row_groups_removed:
        parts.append(f"skipped {f.row_groups_removed} of {f.row_groups} row groups")
    if f.scan_rows is not None:
        parts.append(f"scan read {amount(f.scan_rows)} rows")
    if f.pauses:
        parts.append(f"paused {f.pauses} times")
    return ", ".join(parts)


def filter_name(f: Filter) -> str:
    """`RF000[bloom] o_custkey <- c_custkey`."""
    kinds = f"[{', '.join(f.kinds)}]" if f.kinds else ""
    target = f"{f.target_table}.{f.target_column} <- " if f.target_column else ""
    return f"{f.id or 'none'}{kinds} {target}{f.source}"


def render(r: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(r))


def _lines(r: Report) -> Iterator[str]:
    yield f"Springbok {r.springbok} on Spark {r.spark}: {r.state}"
    if r.note:
        yield from _wrap(r.note, 0)
    yield from _section("Tables", (_table(t) for t in r.tables))
    yield from _section("Joins", (line for j in r.joins for line in _join(j)))
    yield from _section("Runtime filters", (line for f in r.filters for line in _filter(f)))
    yield from _section("Join order", (line for o in r.join_order for line in _join_order(o)))
    yield from _section("Conjuncts put into another order", (line for c in r.conjuncts for line in _conjuncts(c)))
    for failure in r.failures:
        yield f"FAILED: {failure['rule']} with {failure['error']}; the plan went on without it"
    yield from _section("Settings that differ from the default", (f"  {k} = {v}" for k, v in r.settings.items()))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    content = list(lines)
    if content:
        yield from ("", title, *content)


def _table(t: Table) -> str:
    files = f", {t.files} files" if t.files else ""
    return f"  {t.name or '?'} ({t.format}{files}, {size(t.bytes)}): {amount(t.rows)} rows ({t.rows_source})"


def _join(j: Join) -> Iterator[str]:
    yield from _wrap(f"{j.id} {j.type} {keys(j)}", 2)
    yield from _wrap(strategy(j) + (f" (revised at run time, planned as {j.planned})" if j.revised else ""), 6)
    if j.reason:
        yield from _wrap(str(j.reason), 6)
    for note in j.notes:
        yield from _wrap(str(note), 6)
    for name, side in (("left", j.left), ("right", j.right)):
        if side:
            shuffled = ", already partitioned" if side.partitioned else ""
            bound = f", at most {size(side.bound_bytes)}" if side.bound_bytes is not None else ""
            yield f"      {name}: {amount(side.rows)} rows ({side.rows_source}){bound}{shuffled}"
    if j.output_rows is not None:
        yield f"      output: {amount(j.output_rows)} rows observed"
    for a in j.alternatives:
        yield from _wrap(cost(a), 8)


def _filter(f: Filter) -> Iterator[str]:
    yield from _wrap(f"{filter_name(f)} (join {f.join}): {f.status}", 2)
    if f.status != "used":
        yield from _wrap(str(f.reason), 6)
    if text := effect(f):
        yield from _wrap(text, 6)


def _join_order(o: JoinOrder) -> Iterator[str]:
    yield from _wrap(o.after or o.before, 2)
    yield from _wrap(str(o.reason), 6)
    if o.after:
        yield from _wrap(f"instead of {o.before}", 6)


def _conjuncts(c: Conjuncts) -> Iterator[str]:
    if c.changed:
        yield f"  {c.operator}: {c.cost_after:.0f} ns a row instead of {c.cost_before:.0f}"
        for e in c.order:
            kept = f"{e.selectivity:.1%} of the rows" if e.selectivity is not None else "an unknown part"
            yield from _wrap(f"{e.condition} ({e.cost:.0f} ns, keeps {kept})", 6)


def _wrap(text: str, indent: int) -> list[str]:
    pad = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=pad, subsequent_indent=pad + "  ") or [pad]
