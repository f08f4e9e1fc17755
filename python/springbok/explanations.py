"""Why a query has another strategy, another distribution or no such filter: what its report has recorded.

The module is not called `why_not`: in `springbok` that name is the function.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from springbok.errors import SpringbokError
from springbok.model import Filter, Join, ReportData, Side, Table
from springbok.reports import report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What can be asked for, and its name in reports, which is understood as well.
_DISTRIBUTIONS = {"colocate": "colocate", "bucket shuffle": "bucket shuffle"}
_STRATEGIES = {
    **{"broadcast": "broadcast hash", "hash": "shuffled hash", "merge": "sort-merge"},
    **{"nested loop": "broadcast nested loop", "cartesian": "cartesian"},
}
_FILTERS = {"filter": "filter", "in": "in", "min-max": "minmax", "bloom": "bloom", "bitmap": "bitmap", "late": "late"}
_ASKED = _DISTRIBUTIONS | _STRATEGIES | _FILTERS
_BUCKETS = "spark.sql.sources.bucketing.enabled"
_TRANSFORMS = "spark.sql.sources.v2.bucketing.enabled"
_TYPES = "spark.springbok.runtimeFilter.types"
_IN_LIMIT = "spark.springbok.runtimeFilter.inLimit"
_WAIT = "spark.springbok.runtimeFilter.wait"


def why_not(df: DataFrame | ReportData, what: str, table: str | None = None) -> str:
    """Why a join is not executed in this way, or why there is no such runtime filter.

    The answer is one sentence with the reason that was recorded: its code, its numbers, and in brackets its setting.

    Args:
        df: a DataFrame, or its report.
        what: a distribution ("colocate", "bucket shuffle"), a strategy ("broadcast", "hash", "merge", "nested loop",
            "cartesian"), a filter ("filter", "in", "min-max", "bloom", "bitmap"), or a filter that is "late": its scan
            starts without it.
        table: only joins with keys of this table, or filters on its scan. A name that two tables have needs the
            database, as in "sales.orders".

    Raises:
        SpringbokError: an unknown word or table, a name that two tables have; see also `report`.
    """
    word = next((w for w, name in _ASKED.items() if _plain(what) in (_plain(w), _plain(name))), None)
    if word is None:
        allowed = ", ".join(_ASKED)
        raise SpringbokError(f"{what!r} is neither a distribution, nor a strategy, nor a filter: ask for {allowed}.")
    r = df if isinstance(df, ReportData) else report(df)
    name, ids = _asked_table(r, table) if table is not None else ("", {t.id for t in r.tables})
    where = f" on {name}" if name else ""
    joins = [j for j in r.joins if j.strategy and (not name or ids & _compared(j))]
    if word in _FILTERS:
        found = [f for f in r.filters if not name or f.target_id in ids]
        # Of filters that were never placed, those of the table's joins.
        found += [f for f in r.filters if name and f.target_table is None and f.join in {j.id for j in joins}]
        answer = _filter(r, _FILTERS[word], found, where)
    elif not joins:
        answer = f"The plan has no join{where}" + (f": {r.note}" if r.note else "")
    else:
        answer = (_distribution if word in _DISTRIBUTIONS else _strategy)(r, _ASKED[word], joins, where)
    return answer.rstrip(".") + "."


def _strategy(r: ReportData, wanted: str, joins: list[Join], where: str) -> str:
    others = [j for j in joins if j.strategy != wanted]
    if not others:
        return f"It has: every join{where} is a {wanted} join"
    j = _largest(others)
    options: dict[str, list[str]] = {}
    for name, side, a in ((*a.strategy.partition(", ")[::2], a) for a in j.alternatives):
        if name == wanted:
            options.setdefault(a.text, []).append(side or name)
    why = [f"{' or '.join(sides)}: {text}" for text, sides in options.items()]
    return f"{j} is a {j.strategy} join and not a {wanted} join because {'; '.join([*why, _reason(r, j)])}"


def _distribution(r: ReportData, wanted: str, joins: list[Join], where: str) -> str:
    others = [j for j in joins if j.distribution not in (wanted, "colocate")]
    if not others:
        return f"It has: every join{where} is {' or '.join(sorted({str(j.distribution) for j in joins}))}"
    j = _largest([j for j in others if j.left_keys] or others)
    name = f"{j} is {j.distribution} and not {wanted} because "
    if not j.left_keys:
        return f"{name}it has no equality, so no key says where rows meet"
    left, right = _layout(r, j.left, j.left_keys), _layout(r, j.right, j.right_keys)
    return f"{name}{left} and {right}, and it is a {j.strategy} join; {_reason(r, j)}"


def _layout(r: ReportData, side: Side, labels: tuple[str, ...]) -> str:
    """How the table of a side stores its rows, and the setting that keeps Spark from using it."""
    ids = {k.table for k in side.keys}
    t = next((t for t in r.tables if {t.id} == ids), None)
    if t is None:
        return f"{' and '.join(labels)} is not read from one table"
    setting = _TRANSFORMS if t.stored_by else _BUCKETS
    off = f" ({setting} is false)" if r.effective.get(setting) == "false" else ""
    if t.bucketing:
        return f"{_name(t)} has {t.bucketing.buckets} buckets by {' and '.join(t.bucketing.columns)}{off}"
    if t.stored_by:
        parts = "" if t.stored_partitions is None else f" in {t.stored_partitions} partitions"
        return f"{_name(t)} is stored by {' and '.join(b.text for b in t.stored_by)}{parts}{off}"
    return f"{_name(t)} is not bucketed"


def _filter(r: ReportData, kind: str, found: list[Filter], where: str) -> str:
    late, any_kind = kind == "late", kind == "filter"
    what = ("runtime filter" if any_kind else f"{kind} filter") + where
    if not found:
        none = r.note or "no join's probe side comes from it"
        return f"There is no {what}: {none}"
    has = [f for f in found if (f.timing == "late" if late else f.status == "used" and (any_kind or kind in f.kinds))]
    if has:
        return f"It has: {has[0].name} is {has[0].status}, {has[0].effect}".rstrip(", ")
    # One that is used as another kind says more than one that was declined.
    f = next((f for f in found if (f.timing if late else f.status == "used")), found[0])
    if late and f.timing:
        return f"{f.name} is not late because {_waits(r, f)}"
    types, needed = r.effective.get(_TYPES), {"bitmap": "IN"}.get(kind, kind.upper())
    if not (late or any_kind) and types is not None and needed not in types.upper():
        return f"There is no {what}: {_TYPES} is {types or 'empty'}, without {needed}"
    if f.status != "used" or late:
        return f"The {what} of join {f.join} from {f.source} is {f.status} because {f.reason}"
    most, because = int(r.effective.get(_IN_LIMIT, 0)), ""
    if kind == "in" and most < (f.build_keys or 0):
        because = f" because a list has at most {most:,} keys [{_IN_LIMIT}]"
    return f"{f.name} is used as {' and '.join(f.kinds)} and not as {kind}{because}: {f.effect}"


def _waits(r: ReportData, f: Filter) -> str:
    """Why the scan does not start without its filter."""
    if f.timing == "local":
        return f"it comes from the broadcast of join {f.join}, which its scan needs as well"
    if f.expected_idle_ms is None or f.expected_benefit_ms is None:
        why = f"{_WAIT} is {r.effective.get(_WAIT, 'not known')}, a hint asks for it, or the build side had finished"
        return f"its scan waits: {why}"
    idle, gain = f"{f.expected_idle_ms:,.0f} ms", f"{f.expected_benefit_ms:,.0f} ms"
    return f"waiting is expected to cost {idle} of all cores and the filter to save {gain} [{_WAIT}]"


def _reason(r: ReportData, j: Join) -> str:
    return str(j.reason or r.note or "Spark decided so")


def _largest(joins: list[Join]) -> Join:
    """The join that people ask about."""
    return max(joins, key=lambda j: (j.left.rows or 0) + (j.right.rows or 0))


def _compared(j: Join) -> set[int]:
    """The tables that a join compares."""
    found = {k.table for s in (j.left, j.right) for k in s.keys if k.table is not None}
    return found or {*j.left.tables, *j.right.tables}


def _asked_table(r: ReportData, table: str) -> tuple[str, set[int]]:
    """The name of a table that tells it from others, and its ids."""
    asked = _parts(table)
    found = [t for t in r.tables if t.name == table or _parts(_name(t))[-len(asked) :] == asked]
    names = sorted({_name(t) for t in found})
    if not found:
        read = ", ".join(sorted({_name(t) for t in r.tables if t.name})) or "none"
        raise SpringbokError(f"The query reads no table {table!r}; it reads {read}.")
    if len(names) > 1:
        raise SpringbokError(f"{table!r} is the name of several tables: ask for one of {', '.join(names)}.")
    return names[0], {t.id for t in found}


def _name(t: Table) -> str:
    return t.qualified_name or t.name or "?"


def _parts(name: str) -> list[str]:
    """`db` and `t` of a name such as `db`.t."""
    found = re.findall(r"`((?:[^`]|``)+)`|([^.`]+)", name)
    return [(quoted.replace("``", "`") or plain).lower() for quoted, plain in found]


def _plain(word: str) -> str:
    return " ".join(word.lower().replace("_", " ").replace("-", " ").split())
