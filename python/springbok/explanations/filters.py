"""Why a query has no such runtime filter."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from springbok.explanations.question import Answer, Question, explained, listed
from springbok.model import Filter, Table
from springbok.render.words import amount, apart, effect, filter_name, size

if TYPE_CHECKING:
    from collections.abc import Callable

_TYPES = "spark.springbok.runtimeFilter.types"
_WAIT = "spark.springbok.runtimeFilter.wait"
_IN_LIMIT = "spark.springbok.runtimeFilter.inLimit"
# The largest value that the setting takes.
_LONGEST_LIST = 65_536
_FILE_LIMIT = "spark.sql.parquet.pushdown.inFilterThreshold"
# The type that allows a kind.
_TYPE_OF = {"in": "IN", "bitmap": "IN", "minmax": "MINMAX", "bloom": "BLOOM"}
# The costs decided, and a hint comes before them.
_COSTS = {"NOT_SELECTIVE", "NO_SHUFFLE_SAVED", "SMALL_BENEFIT", "SMALL_BENEFIT", "NO_WAITING"}


def _kind(kind: str | None, q: Question) -> Answer:
    what = f"{kind} filter" if kind else "runtime filter"
    found = q.filters()
    if not found:
        return _none(q, what)
    having = [f for f in found if f.status == "used" and (kind is None or kind in f.kinds)]
    if having:
        done = effect(having[0])
        return Answer(f"It has: {filter_name(having[0])}" + (f", {done}" if done else ""))
    if kind and (off := _switched_off(q, kind)):
        return off
    # One that is used as another kind says more than one that was declined.
    f = next((x for x in found if x.status == "used"), found[0])
    if f.status == "used" and kind:
        return _other_kind(q, f, kind)
    if f.status == "placed":
        return Answer(
            f"The {what}{q.where} of join {f.join} from {f.source} is placed, and its kinds are chosen when its build "
            "side has finished",
            "run the query and ask again",
        )
    state = f"The {what}{q.where} of join {f.join} from {f.source} is {f.status}: {explained(f.reason)}"
    return Answer(state, _allows(q, f))


def _none(q: Question, what: str) -> Answer:
    why = q.report.note or "no join's probe side comes from it"
    return Answer(f"There is no {what}{q.where}: {why}")


def _switched_off(q: Question, kind: str) -> Answer | None:
    types = q.report.effective.get(_TYPES)
    wanted = _TYPE_OF[kind]
    on = [t.strip().upper() for t in types.split(",")] if types is not None else None
    if on is None or wanted in on:
        return None
    return Answer(
        f"{wanted} is not among the {len(on)} kinds that {_TYPES} allows ({types or 'none'})",
        f"SET {_TYPES}={','.join([*filter(None, on), wanted])}",
    )


def _other_kind(q: Question, f: Filter, kind: str) -> Answer:
    """A filter that is used, and not as this kind."""
    name = f"{filter_name(f)} is applied as {listed(f.kinds)} and not as {kind}"
    count = amount(f.build_keys)
    if kind == "in":
        return _no_list(q, f, name)
    if kind == "bloom" and "bitmap" in f.kinds:
        others = ",".join(t for t in ("MINMAX", "BLOOM") if t in q.report.effective.get(_TYPES, t))
        why = f"its {count} keys are integers that lie close together, so a bitmap of {size(f.bytes)} is exact"
        return Answer(f"{name} because {why}", f"SET {_TYPES}={others}")
    if f.not_pushed and kind == "minmax":
        return Answer(f"{name} because the scan was not told of its {count} keys: {explained(f.not_pushed)}")
    done = effect(f)
    return Answer(f"{name}, which was enough" + (f": {done}" if done else ""))


def _no_list(q: Question, f: Filter, name: str) -> Answer:
    """A filter whose keys the scan got in another form than a list."""
    n, count = f.build_keys, amount(f.build_keys)
    most = int(q.report.effective.get(_IN_LIMIT, 0))
    if n is not None and n > most:
        why = f"{name} because it has {count} keys, and a list has at most {amount(most)}"
        return Answer(why, f"SET {_IN_LIMIT}={n}" if n <= _LONGEST_LIST else None)
    if f.not_pushed:
        return Answer(f"{name} because the scan was not told of its {count} keys: {explained(f.not_pushed)}")
    of_files = int(q.report.effective.get(_FILE_LIMIT, 0))
    if n is not None and f.pushed == "files" and n > of_files:
        why = f"it has {count} keys, and columns of files are compared with at most {amount(of_files)}"
        return Answer(f"{name} because {why}", f"SET {_FILE_LIMIT}={n}")
    return Answer(f"{name}, in which its {count} keys skip as much")


def _late(q: Question) -> Answer:
    found = q.filters()
    if not found:
        return _none(q, "late filter")
    late = [f for f in found if f.timing == "late"]
    if late:
        return Answer(f"It has: {filter_name(late[0])} is {late[0].status}, and its scan did not wait for it")
    f = next((x for x in found if x.timing), None)
    if f is None:
        return Answer(
            f"The late filter{q.where} of join {found[0].join} from {found[0].source} is {found[0].status}: "
            f"{explained(found[0].reason)}",
            _allows(q, found[0]),
        )
    name = f"{filter_name(f)} is not late because "
    if f.timing == "local":
        joined = f"the broadcast of join {f.join}, which its scan needs as well"
        return Answer(f"{name}it comes from {joined}" + (f" ({amount(f.build_rows)} rows)" if f.build_rows else ""))
    return Answer(name + _waits(q, f), f"SET {_WAIT}=NEVER")


def _waits(q: Question, f: Filter) -> str:
    if f.expected_idle_ms is None:
        wait = q.report.effective.get(_WAIT, "").upper()
        setting = f"{_WAIT} is {wait}" if wait == "ALWAYS" else "a hint asks for it, or its build side had finished"
        return f"its scan waits: {setting}"
    if f.expected_benefit_ms is None:
        return f"waiting for it is expected to cost {f.expected_idle_ms:,.0f} ms of all cores"
    idle, gain = apart(lambda n, digits: f"{n:,.{digits}f} ms", f.expected_idle_ms, f.expected_benefit_ms, 0)
    return f"waiting for it is expected to cost {idle} of all cores, and the filter to save {gain}"


def _allows(q: Question, f: Filter) -> str | None:
    """What would make a declined filter."""
    table = q.table(f.target_id) or _probe(q, f)
    if f.reason.code in _COSTS and table is not None and table.name:
        return f"the hint /*+ RUNTIME_FILTER_TARGET({table.name}) */"
    return f"another value of {f.reason.setting}" if f.reason.setting else None


def _probe(q: Question, f: Filter) -> Table | None:
    """The table that a filter without a target would be applied to."""
    j = next((j for j in q.report.joins if j.id == f.join), None)
    if j is None:
        return None
    sides = [s for s, others in ((j.right, j.left_keys), (j.left, j.right_keys)) if f.source in others]
    if len(sides) > 1 and j.build:
        sides = [j.right if j.build == "left" else j.left]
    tables = [t for t in map(q.compared_table, sides) if t is not None]
    if len(tables) > 1:
        # The keys of both sides have one name: it can only be the table that is asked about.
        tables = [t for t in tables if q.tables and t.id in q.tables]
    return tables[0] if len(tables) == 1 else None


ANSWERS: dict[str, Callable[[Question], Answer]] = {
    "filter": partial(_kind, None),
    "in": partial(_kind, "in"),
    "min-max": partial(_kind, "minmax"),
    "bloom": partial(_kind, "bloom"),
    "bitmap": partial(_kind, "bitmap"),
    "late": _late,
}
