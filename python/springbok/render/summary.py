"""A report on one screen: a line for each join and each runtime filter, then what to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from springbok.model import Alternative, Filter, Join, Reason, ReportData
from springbok.render import words
from springbok.render.lines import WIDTH, section, shorten, table, wrap

T = TypeVar("T")

_MOST = 12  # lines of joins, of filters and of advice
_FAR_OFF = 10  # times
_JOIN_HEAD = ("", "join", "strategy, build", "Spark alone", "why", "expected", "observed")
_FILTER_HEAD = ("filter", "join", "status", "effect, or why not")
_STATUS_ORDER = ("used", "placed", "unused", "declined")


def summary(r: ReportData) -> str:
    """The report on one screen."""
    return "\n".join(_lines(r))


def line(r: ReportData) -> str:
    """The report in one line, for shells, debuggers and logs."""
    e = r.execution
    run = f"query {e.id}, {e.action}, {e.duration_ms:,} ms" if e else r.state
    text = f"{run}, {len(r.joins)} joins, {_used(r)} filters used" + (f": {words.which(r)}" if words.which(r) else "")
    return shorten(text, WIDTH)


def lines_of(reports: Sequence[ReportData]) -> str:
    """A table with a line for each report."""
    head = ("query", "action", "ms", "joins", "filters used", "what")
    return "\n".join(table(head, [_row(r) for r in reports])) or "no reports"


def _row(r: ReportData) -> tuple[str, ...]:
    e = r.execution
    run = (str(e.id), e.action, f"{e.duration_ms:,}") if e else ("", r.state, "")
    return *run, str(len(r.joins)), _used(r), words.which(r)


def _used(r: ReportData) -> str:
    return f"{sum(f.status == 'used' for f in r.filters)} of {sum(f.id is not None for f in r.filters)}"


def _lines(r: ReportData) -> Iterator[str]:
    yield f"Springbok {r.springbok} on Spark {r.spark}: {words.state(r)}"
    if words.which(r):
        yield shorten(words.which(r), WIDTH)
    if r.note:
        yield from wrap(r.note, 0)
    if r.sink:
        yield from wrap(f"Writes: {words.sink(r.sink)}.", 0)
    joins, more_joins = _first(r.joins)
    yield from section(
        "Joins, with rows expected and observed", (*table(_JOIN_HEAD, [_join(j) for j in joins]), *more_joins)
    )
    filters, more_filters = _first(sorted(r.filters, key=lambda f: _STATUS_ORDER.index(f.status)))
    yield from section("Runtime filters", (*table(_FILTER_HEAD, [_filter(f) for f in filters]), *more_filters))
    if words.saved(r):
        yield from wrap(f"Saved, by estimate: {words.saved(r)}.", 0)
    advice, more_advice = _first(list(_advice(r)))
    changes = [line for text in advice for line in wrap(text, 2)]
    yield from section("What to change", (*(changes or ["  Nothing stands out."]), *more_advice))
    decided, more_decided = _first(list(_decided(r).items()))
    settings = [line for key, places in decided for line in wrap(f"{key}: {'; '.join(places)}", 2)]
    yield from section("Settings that decided", (*settings, *more_decided))


def _first(items: Sequence[T]) -> tuple[Sequence[T], tuple[str, ...]]:
    """What is shown, and a line that says how many more there are."""
    more = len(items) - _MOST
    return items[:_MOST], (f"  and {more} more",) if more > 0 else ()


def _join(j: Join) -> tuple[str, ...]:
    return (
        str(j.id),
        words.keys(j) if j.type == "INNER" else f"{j.type} {words.keys(j)}",
        _short(words.strategy(j)),
        _short(words.spark_alone(j)),
        j.reason.code if j.reason else "",
        words.amount(j.estimated_rows, unknown=""),
        words.amount(j.output_rows, unknown=""),
    )


def _short(text: str) -> str:
    """`broadcast, left` for `broadcast hash, build left`."""
    return text.replace("broadcast hash", "broadcast").replace("build ", "")


def _filter(f: Filter) -> tuple[str, ...]:
    if f.status == "used":
        what = words.removed(f)
    elif f.status == "placed" and f.expected_retained is not None:
        what = f"expected to retain {f.expected_retained:.0%} of the rows"
    else:
        what = f"{f.reason.code}: {f.reason.text}"
    return words.filter_name(f), str(f.join), f.status, what


def _advice(r: ReportData) -> Iterator[str]:
    """What would make the plan better, most important first."""
    for failure in r.failures:
        yield f"Report a bug: the rule {failure['rule']} failed with {failure['error']}. The plan went on without it."
    uncounted = [t for t in r.tables if t.rows is None and not t.analyze]
    for name in sorted({t.name or "?" for t in uncounted if not t.format.startswith("JDBC")}):
        yield f"Store {name} as Parquet or ORC, or as a table that can be analyzed: its rows are unknown."
    for name in sorted({t.name or "?" for t in uncounted if t.format.startswith("JDBC")}):
        yield f"Cache {name}, or hint at its joins: Spark learns no row counts from a database."
    for statement in words.statements(r):
        yield f"Collect statistics: {statement}"
    for j in r.joins:
        if j.hint_honoured is False:
            yield f"Remove or correct the hint {j.hint} of join {j.id}: it cannot be followed."
    for j in r.joins:
        if j.q_error is not None and j.q_error >= _FAR_OFF:
            yield f"Check the statistics of join {j.id}: its output is off by {j.q_error:,.0f}x."
    ruled_out = [(a.ruled_out, f"a {a.strategy} in join {j.id}") for j in r.joins for a in _cheaper(j)]
    for setting, places in _by_setting(ruled_out).items():
        yield f"Consider another value of {setting}: it rules out {'; '.join(places)}, which would cost less."


def _decided(r: ReportData) -> dict[str, list[str]]:
    """The settings that decisions depend on, each with what it decides. Another value need not be better."""
    found = [(j.reason, f"join {j.id}") for j in r.joins]
    for f in r.filters:
        if f.status in ("unused", "declined"):
            found.append((f.reason, f"no filter of join {f.join} from {f.source}"))
    return _by_setting(found)


def _by_setting(decisions: Iterable[tuple[Reason | None, str]]) -> dict[str, list[str]]:
    """What each setting has decided."""
    found: dict[str, list[str]] = {}
    for reason, what in decisions:
        if reason and reason.setting and what not in found.setdefault(reason.setting, []):
            found[reason.setting].append(what)
    return found


def _cheaper(j: Join) -> list[Alternative]:
    """The alternatives that would cost less than what was chosen."""
    chosen = next((a.cost_bytes for a in j.alternatives if a.strategy == words.strategy(j)), None)
    return [a for a in j.alternatives if chosen and a.cost_bytes is not None and a.cost_bytes < chosen]
