"""Why a query has another strategy, or no such filter, in one sentence.

The module is not called `why_not`: in the package that name is the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from springbok.errors import SpringbokError
from springbok.model import Filter, Join, ReportData, Table
from springbok.render.words import cost_of, effect, filter_name, keys, size, strategy
from springbok.reports import report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STRATEGIES = {
    "broadcast": "broadcast hash",
    "broadcast hash": "broadcast hash",
    "hash": "shuffled hash",
    "shuffled hash": "shuffled hash",
    "merge": "sort-merge",
    "sort-merge": "sort-merge",
}
_KINDS = {"bloom": "bloom", "bitmap": "bitmap", "in": "in", "minmax": "minmax", "filter": None}


def why_not(df: DataFrame | ReportData, what: str, table: str | None = None) -> str:
    """Why a join of the query has another strategy, or why there is no such runtime filter: one sentence with numbers.

    Args:
        df: a DataFrame, or its report.
        what: a strategy ("broadcast", "hash", "merge") or a filter ("filter", "bloom", "bitmap", "in", "minmax").
        table: only joins on columns of this table, or filters on its scan.

    Raises:
        SpringbokError: an unknown word or table; see also `report`.
    """
    r = df if isinstance(df, ReportData) else report(df)
    word = what.strip().lower().replace("_", " ")
    tables = [t for t in r.tables if table is None or t.name == table]
    if table is not None and not tables:
        names = ", ".join(sorted({t.name for t in r.tables if t.name})) or "none"
        raise SpringbokError(f"The query reads no table {table!r}; it reads {names}.")
    if word in _STRATEGIES:
        return _join(r, _STRATEGIES[word], tables if table else None)
    if word in _KINDS:
        return _filter(r, _KINDS[word], table)
    raise SpringbokError(f"{what!r} is neither a strategy nor a filter: ask for {', '.join((*_STRATEGIES, *_KINDS))}.")


def _join(r: ReportData, wanted: str, tables: list[Table] | None) -> str:
    where = f" on {tables[0].name}" if tables else ""
    joins = [j for j in r.joins if j.strategy and (tables is None or _touches(j, tables))]
    if not joins:
        return f"The plan has no join{where}" + (f": {r.note}" if r.note else ".")
    others = [j for j in joins if j.strategy != wanted]
    if not others:
        return f"It has: every join{where} is a {wanted} join."
    # The largest join is what people ask about.
    j = max(others, key=lambda x: sum(s.rows or 0 for s in (x.left, x.right)))
    name = f"Join {j.id} ({keys(j)}) is a {j.strategy} join and not a {wanted} join because "
    options = [a for a in j.alternatives if a.strategy.startswith(wanted)]
    possible = [a for a in options if not a.ruled_out and a.cost_bytes is not None]
    if possible:
        best = min(possible, key=lambda a: a.cost_bytes or 0)
        chosen = next((a for a in j.alternatives if a.strategy == strategy(j)), None)
        mine = f" and the chosen one {size(chosen.cost_bytes)}" if chosen and chosen.cost_bytes is not None else ""
        side = best.strategy.removeprefix(wanted).strip(", ")
        return f"{name}that would cost {size(best.cost_bytes)}{f' ({side})' if side else ''}{mine}."
    if options:
        return name + "; ".join(f"{a.strategy}: {_because(cost_of(a))}" for a in options) + "."
    return f"{name}{j.reason.text if j.reason else r.note or 'Spark decided so'}."


def _filter(r: ReportData, kind: str | None, table: str | None) -> str:
    what = f"{kind} filter" if kind else "runtime filter"
    where = f" on {table}" if table else ""
    columns = {c for t in r.tables if t.name == table for c in t.columns}
    found = [f for f in r.filters if table is None or f.target_table == table or _declined_for(f, r, columns)]
    if not found:
        why = r.note or "no join's probe side comes from it"
        return f"There is no {what}{where}: {why.rstrip('.')}."
    having = [f for f in found if f.status == "used" and (kind is None or kind in f.kinds)]
    if having:
        return f"It has: {filter_name(having[0])}" + (f", {effect(having[0])}" if effect(having[0]) else "") + "."
    # One at work as another kind says more than one that was declined.
    f = next((x for x in found if x.status == "used"), found[0])
    if f.status == "used":
        return f"{filter_name(f)} works as {' and '.join(f.kinds)}, which was found to be enough: {effect(f)}."
    return f"The {what}{where} of join {f.join} from {f.source} is {f.status}: {_because(str(f.reason.text), f)}."


def _declined_for(f: Filter, r: ReportData, columns: set[str]) -> bool:
    """Whether a filter that reached no scan belongs to a join on these columns."""
    join = next((j for j in r.joins if j.id == f.join), None)
    return f.target_table is None and join is not None and bool(columns & _columns(join))


def _touches(j: Join, tables: list[Table]) -> bool:
    return any(_columns(j) & set(t.columns) for t in tables)


def _columns(j: Join) -> set[str]:
    return {k.strip("`") for k in (*j.left_keys, *j.right_keys)}


def _because(text: str, f: Filter | None = None) -> str:
    setting = f.reason.setting if f else None
    return text + (f" ({setting} would change it)" if setting else "")
