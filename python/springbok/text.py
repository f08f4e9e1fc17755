"""Reports as text, readable at 100 columns."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from springbok.compare import Comparison
    from springbok.record import (
        Alternative,
        Conjunct,
        Conjuncts,
        Execution,
        Filter,
        Fragment,
        Join,
        JoinOrder,
        Report,
        Side,
        Table,
    )

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


def cost_of(a: Alternative) -> str:
    """What an alternative costs, or why it is ruled out, without its name."""
    if a.ruled_out:
        return f"ruled out, {a.ruled_out}"
    terms = ", ".join(f"{name} {size(b)}" for name, b in a.terms.items())
    return f"costs {size(a.cost_bytes)}" + (f" ({terms})" if len(a.terms) > 1 else "")


def cost(a: Alternative) -> str:
    """What an alternative costs, or why it is ruled out."""
    return f"{a.strategy}: {cost_of(a)}"


def factor(q: float | None) -> str:
    """How far an estimate was off: nothing up to a factor of 2."""
    return f", off {q:,.1f}x" if q is not None and q >= 2 else ""


def state(r: Report) -> str:
    """Whether the query ran, and if it was not this DataFrame's own run, which."""
    return r.state + (f" by {ran(r.execution)}" if r.execution else "")


def ran(e: Execution) -> str:
    """`count(), query 12 of the SQL tab, 345 ms`."""
    return f"{e.action}, query {e.id} of the SQL tab, {e.duration_ms:,} ms"


def effect(f: Filter) -> str:
    """What a filter did, or is."""
    parts = []
    if f.build_keys is not None:
        parts.append(f"built from {amount(f.build_keys)} keys")
    if f.bytes:
        parts.append(size(f.bytes))
    if f.false_positive_rate:
        parts.append(f"{f.false_positive_rate:.2%} false positives")
    if f.waited_ms is not None:
        parts.append(f"waited {f.waited_ms:,} ms")
    if f.rows_in:
        parts.append(f"removed {amount(f.rows_removed)} of {amount(f.rows_in)} rows")
    if f.row_groups_removed:
        parts.append(f"skipped {f.row_groups_removed} of {f.row_groups} row groups")
    if f.files is not None and f.files_read is not None and f.files_read < f.files:
        parts.append(f"read {f.files_read} of {f.files} files")
    if f.scan_rows is not None:
        parts.append(f"scan read {amount(f.scan_rows)} rows")
    if f.switched_off:
        parts.append(f"switched off {f.pauses} times for a while")
    return ", ".join(parts)


def filter_name(f: Filter) -> str:
    """`RF000[bloom] o_custkey <- c_custkey`."""
    kinds = f"[{', '.join(f.kinds)}]" if f.kinds else ""
    target = f"{f.target_table}.{f.target_column} <- " if f.target_column else ""
    return f"{f.id or 'none'}{kinds} {target}{f.source}"


def missing(r: Report) -> str:
    """The tables whose rows are not known, as a warning; empty if there are none."""
    names = sorted({t.name or "?" for t in r.tables if "rows" in t.missing_statistics})
    return f"Tables without statistics: {', '.join(names)}." if names else ""


def render(r: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(r))


def comparison(c: Comparison) -> str:
    """Both plans side by side."""
    return "\n".join(_comparison(c))


def verdict(c: Comparison) -> str:
    """What running both has shown; empty if they were not run."""
    if c.seconds_off is None or c.seconds_on is None:
        return ""
    equal = "the answers are equal" if c.equal else "THE ANSWERS DIFFER"
    times = f"{c.seconds_off:.2f} s without, {c.seconds_on:.2f} s with Springbok"
    return f"{times} ({c.seconds_off / max(c.seconds_on, 1e-9):.2f}x), one run each; {equal}"


def used(c: Comparison) -> list[str]:
    """The filters that the second plan has, with what they did."""
    return [
        ": ".join(filter(None, (filter_name(f), effect(f)))) for f in c.on.filters if f.status in ("placed", "used")
    ]


def _comparison(c: Comparison) -> Iterator[str]:
    changed = sum(j.changed for j in c.joins)
    yield f"Without and with Springbok: {changed} of {len(c.joins)} joins differ, {len(used(c))} runtime filters"
    if verdict(c):
        yield verdict(c)
    column = (WIDTH - 6) // 3
    rows = [("join", "without", "with")]
    rows += [(j.join, j.off or "none", (j.on or "none") + ("  *" if j.changed else "")) for j in c.joins]
    if c.joins:
        yield ""
    for row in rows:
        cells = [textwrap.wrap(t, column) or [""] for t in row]
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            yield "   ".join(p.ljust(column) for p in parts).rstrip()
    reasons = [f"{j.join}: {j.reason}" for j in c.joins if j.changed and j.reason]
    yield from _section("Why (*)", (line for t in reasons for line in _wrap(t, 2)))
    yield from _section("Runtime filters", (line for t in used(c) for line in _wrap(t, 2)))


def _lines(r: Report) -> Iterator[str]:
    yield f"Springbok {r.springbok} on Spark {r.spark}: {state(r)}"
    for text in filter(None, (r.note, missing(r))):
        yield from _wrap(text, 0)
    yield from _section("Tables", (line for t in r.tables for line in _table(t)))
    yield from _section("Joins", (line for j in r.joins for line in _join(j)))
    yield from _section("Runtime filters", (line for f in r.filters for line in _filter(f)))
    yield from _section("Join order", (line for o in r.join_order for line in _join_order(o)))
    yield from _section("Conjuncts put into another order", (line for c in r.conjuncts for line in _conjuncts(c)))
    yield from _section("Fragments", (line for f in r.fragments for line in _fragment(f)))
    for failure in r.failures:
        yield f"FAILED: {failure['rule']} with {failure['error']}; the plan went on without it"
    memory = r.resources.join_memory_per_executor_bytes
    if memory:
        yield ""
        yield f"The joins may take {size(memory)} of each executor's {size(r.resources.executor_heap_bytes)} heap"
    settings = (line for k, v in r.settings.items() for line in _wrap(f"{k} = {v}", 2))
    yield from _section("Settings that differ from the default", settings)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    content = list(lines)
    if content:
        yield from ("", title, *content)


def read(t: Table) -> str:
    """What was read of a table; empty before the query ran."""
    parts = []
    if t.partitions is not None and t.partitions_read is not None:
        parts.append(f"{t.partitions_read} of {t.partitions} partitions")
    if t.files is not None and t.files_read is not None:
        parts.append(f"{t.files_read} of {t.files} files")
    if t.rows_read is not None:
        parts.append(f"{amount(t.rows_read)} rows")
    return ", ".join(parts)


def _table(t: Table) -> Iterator[str]:
    files = f", {t.files} files" if t.files else ""
    what = f"{t.name or '?'} ({t.format}{files}, {size(t.bytes)}): {amount(t.rows)} rows ({t.rows_source})"
    yield from _wrap(what + (f"; read {read(t)}" if read(t) else ""), 2)


def _join(j: Join) -> Iterator[str]:
    yield from _wrap(f"{j.id} {j.type} {keys(j)}", 2)
    if j.other_conjuncts:
        yield from _wrap(f"and {j.other_conjuncts}", 6)
    changed = f" (changed at run time from {j.before})" if j.revised else ""
    where = f", {j.distribution}" if j.distribution and j.distribution not in (j.strategy or "") else ""
    yield from _wrap(strategy(j) + where + changed, 6)
    if j.reason:
        yield from _wrap(str(j.reason), 6)
    if j.hint_honoured is False:
        yield from _wrap(f"the hint {j.hint} was NOT honoured", 6)
    for note in j.notes:
        yield from _wrap(str(note), 6)
    for name, side in (("left", j.left), ("right", j.right)):
        yield from _wrap(f"{name}: {side_text(side)}", 6)
    if j.output_rows is not None:
        yield f"      output: {amount(j.output_rows)} rows observed{factor(j.q_error)}"
    for a in j.alternatives:
        yield from _wrap(cost(a), 8)


def side_text(s: Side) -> str:
    """Rows estimated and observed of a join's input."""
    bound = f", at most {size(s.bound_bytes)}" if s.bound_bytes is not None else ""
    seen = f"; {observed(s)}" if s.observed_rows is not None else ""
    shuffled = ", already partitioned" if s.partitioned else ""
    return f"{amount(s.rows)} rows ({s.rows_source}){bound}{shuffled}{seen}"


def observed(s: Side) -> str:
    """What a join's input had; its filters are part of the estimate that is compared."""
    first = s.estimated_rows
    other = first is not None and s.rows is not None and abs(first - s.rows) > 0.01 * s.rows
    return (
        f"observed {amount(s.observed_rows)}" + (f" of estimated {amount(first)}" if other else "") + factor(s.q_error)
    )


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


def conjunct(e: Conjunct) -> str:
    """A conjunct with its cost and the rows that it keeps."""
    kept = f"{e.selectivity:.1%} of the rows" if e.selectivity is not None else "an unknown part"
    return f"{e.condition} ({e.cost:.0f} ns, keeps {kept})"


def _conjuncts(c: Conjuncts) -> Iterator[str]:
    if c.changed:
        yield f"  {c.operator}: {c.cost_after:.0f} ns a row instead of {c.cost_before:.0f}"
        for e in c.order:
            yield from _wrap(conjunct(e), 6)


def _fragment(f: Fragment) -> Iterator[str]:
    e = f.exchange
    to = f" to {', '.join(map(str, e.to))}" if e and e.to else ""
    rows = amount(e.rows if e.rows is not None else e.estimated_rows) if e else ""
    sent = f", {rows} rows{'' if e.rows is not None else ' estimated'}{factor(e.q_error)}" if e else ""
    yield from _wrap(f"{f.id} {f.kind}{to}: {f.partitioning}{sent}", 2)


def _wrap(text: str, indent: int) -> list[str]:
    pad = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=pad, subsequent_indent=pad + "  ") or [pad]
