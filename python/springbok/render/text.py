"""Whole reports as text of at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator

from springbok.model import Conjuncts, Filter, Fragment, Join, JoinOrder, ReportData, Side, Table
from springbok.render import words
from springbok.render.lines import section, wrap


def report(r: ReportData) -> str:
    """The whole report."""
    return "\n".join(_lines(r))


def _lines(r: ReportData) -> Iterator[str]:
    yield f"Springbok {r.springbok} on Spark {r.spark}: {words.state(r)}"
    for text in filter(None, (r.note, *words.missing(r))):
        yield from wrap(text, 0)
    if words.saved(r):
        yield from wrap(f"Saved by runtime filters, by estimate: {words.saved(r)}.", 0)
    yield from section("Query", (line for t in words.identity(r) for line in wrap(t, 2)))
    yield from section("Statistics to collect", (line for t in words.statements(r) for line in wrap(t, 2)))
    yield from section("Tables", (line for t in r.tables for line in _table(t)))
    yield from section("Writes", (line for t in words.writes(r) for line in wrap(t, 2)))
    yield from section("Joins", (line for j in r.joins for line in _join(j)))
    yield from section("Runtime filters", (line for f in r.filters for line in _filter(f)))
    yield from section("Join order", (line for o in r.join_order for line in _join_order(o)))
    yield from section("Conjuncts put into another order", (line for c in r.conjuncts for line in _conjuncts(c)))
    yield from section("Fragments", (line for f in r.fragments for line in _fragment(f)))
    for failure in r.failures:
        yield f"FAILED: {failure['rule']} with {failure['error']}; the plan went on without it"
    memory = r.resources.join_memory_per_executor_bytes
    if memory:
        yield ""
        heap = words.size(r.resources.executor_heap_bytes)
        yield f"The joins may take {words.size(memory)} of each executor's {heap} heap"
    settings = (line for k, v in r.settings.items() for line in wrap(f"{k} = {v}", 2))
    yield from section("Settings that differ from the default", settings)


def _table(t: Table) -> Iterator[str]:
    files = f", {t.files} files" if t.files else ""
    rows = f"{words.amount(t.rows)} rows ({t.rows_source})"
    what = f"{t.name or '?'} ({t.format}{files}, {words.size(t.bytes)}): {rows}"
    yield from wrap(what + (f"; read {words.read(t)}" if words.read(t) else ""), 2)
    for text in words.scanned(t):
        yield from wrap(text, 6)


def _join(j: Join) -> Iterator[str]:
    yield from wrap(f"{j.id} {j.type} {words.keys(j)}", 2)
    if j.left_keys and j.other_conjuncts:
        yield from wrap(f"and {j.other_conjuncts}", 6)
    changed = f" (changed at run time from {j.before})" if j.revised else ""
    where = f", {j.distribution}" if j.distribution and j.distribution not in (j.strategy or "") else ""
    yield from wrap(words.strategy(j) + where + changed, 6)
    if j.reason:
        yield from wrap(str(j.reason), 6)
    if j.hint_honoured is False:
        yield from wrap(f"the hint {j.hint} was NOT honoured", 6)
    for note in j.notes:
        yield from wrap(str(note), 6)
    for name, side in (("left", j.left), ("right", j.right)):
        yield from wrap(f"{name}: {side_text(side)}", 6)
    if j.output_rows is not None:
        yield f"      output: {words.amount(j.output_rows)} rows observed{words.factor(j.q_error)}"
    for a in j.alternatives:
        yield from wrap(words.cost(a), 8)


def side_text(s: Side) -> str:
    """Rows estimated and observed of a join's input."""
    bound = f", at most {words.size(s.bound_bytes)}" if s.bound_bytes is not None else ""
    seen = f"; {words.observed(s)}" if s.observed_rows is not None else ""
    shuffled = ", already partitioned" if s.partitioned else ""
    return f"{words.amount(s.rows)} rows ({s.rows_source}){bound}{shuffled}{seen}"


def _filter(f: Filter) -> Iterator[str]:
    scope = f", {f.scope}" if f.scope else ""
    yield from wrap(f"{words.filter_name(f)} (join {f.join}): {f.status}{scope}", 2)
    if f.status != "used":
        yield from wrap(str(f.reason), 6)
    if text := words.effect(f):
        yield from wrap(text, 6)


def _join_order(o: JoinOrder) -> Iterator[str]:
    yield from wrap(o.after or o.before, 2)
    yield from wrap(str(o.reason), 6)
    if o.after:
        yield from wrap(f"instead of {o.before}", 6)
    if o.best:
        yield from wrap(f"the best order found: {o.best}", 6)


def _conjuncts(c: Conjuncts) -> Iterator[str]:
    if c.changed:
        costs = words.apart(lambda n, digits: f"{n:.{digits}f}", c.cost_after, c.cost_before, 0)
        yield "  {}: {} ns a row instead of {}".format(c.operator, *costs)
        for e in c.order:
            yield from wrap(words.conjunct(e), 6)


def _fragment(f: Fragment) -> Iterator[str]:
    e = f.exchange
    to = f" to {', '.join(map(str, e.to))}" if e and e.to else ""
    rows = words.amount(e.rows if e.rows is not None else e.estimated_rows) if e else ""
    sent = f", {rows} rows{'' if e.rows is not None else ' estimated'}{words.factor(e.q_error)}" if e else ""
    yield from wrap(f"{f.id} {f.kind}{to}: {f.partitioning}{sent}", 2)
    for a in (n.aggregate for n in f.nodes if n.aggregate):
        yield from wrap(words.aggregate(a), 6)
