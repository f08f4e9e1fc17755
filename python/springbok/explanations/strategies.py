"""Why a join has another strategy."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from springbok.explanations.question import Answer, Question, explained, full_name, label, largest, listed
from springbok.model import Alternative, Join, Reason
from springbok.render.words import apart, size, strategy

if TYPE_CHECKING:
    from collections.abc import Callable

# The hint that asks Spark for a strategy. None asks for a nested loop where there is an equality.
_HINTS = {
    "broadcast hash": "BROADCAST",
    "shuffled hash": "SHUFFLE_HASH",
    "sort-merge": "MERGE",
    "cartesian": "SHUFFLE_REPLICATE_NL",
}
_BROADCAST_LIMIT = "spark.springbok.join.broadcastBytesLimit"
_ROWS_UNKNOWN = {"SIZE_UNKNOWN", "STATS_UNKNOWN"}
# What no setting and no hint makes possible.
_IMPOSSIBLE = {"JOIN_TYPE_UNSUPPORTED", "JOIN_TYPE_UNSUPPORTED", "JOIN_TYPE_UNSUPPORTED", "BUILD_SIDE_TOO_BIG_FOR_SPARK"}


def _answer(wanted: str, q: Question) -> Answer:
    joins = q.joins()
    if not joins:
        return q.no_join()
    others = [j for j in joins if j.strategy != wanted]
    if not others:
        return Answer(f"It has: every join{q.where} is a {wanted} join")
    j = largest(others)
    options = [a for a in j.alternatives if a.strategy == wanted or a.strategy.startswith(f"{wanted},")]
    name = f"{label(j)} is a {j.strategy} join and not a {wanted} join because "
    possible = [a for a in options if a.ruled_out is None and a.cost_bytes is not None]
    if possible:
        best = min(possible, key=lambda a: a.cost_bytes or 0)
        return Answer(f"{name}that {would_cost(j, best, _side(best))}", hint(q, j, best))
    if options:
        return Answer(name + _ruled_out(options), _way_out(q, j, options))
    why = explained(j.reason) if j.reason else q.report.note or "Spark decided so"
    return Answer(name + why, hint(q, j, Alternative(wanted, {})) if j.left_keys else None)


def would_cost(j: Join, a: Alternative, side: str = "") -> str:
    """What an alternative and the chosen strategy cost, as the end of a sentence."""
    taken = next((t for t in j.alternatives if t.strategy == strategy(j)), None)
    if a.cost_bytes is None or taken is None or taken.cost_bytes is None:
        return f"would cost {size(a.cost_bytes)}{side}" + (f" ({explained(j.reason)})" if j.reason else "")
    other, own = apart(size, a.cost_bytes, taken.cost_bytes)
    return f"would cost {other}{side} and the chosen one {own}"


def hint(q: Question, j: Join, a: Alternative) -> str | None:
    """The hint that asks for a strategy, which comes before any cost."""
    kind, _, build = a.strategy.partition(", build ")
    sides = [s for s in (j.left, j.right) if build not in ("left", "right") or s is getattr(j, build)]
    table = next((t for t in map(q.compared_table, sides) if t and t.name), None)
    if kind not in _HINTS or table is None:
        return None
    return f"the hint /*+ {_HINTS[kind]}({table.name}) */"


def _side(a: Alternative) -> str:
    _, _, side = a.strategy.partition(", ")
    return f" ({side})" if side else ""


def _ruled_out(options: list[Alternative]) -> str:
    reasons = {a.strategy: explained(a.ruled_out) for a in options if a.ruled_out}
    if len(set(reasons.values())) == 1:
        return next(iter(reasons.values()))
    return "; ".join(f"{name.partition(', ')[2]}: {why}" for name, why in reasons.items())


def _way_out(q: Question, j: Join, options: list[Alternative]) -> str | None:
    """The first thing that would allow one of the options."""
    return next((way for a in options if a.ruled_out and (way := _allows(q, j, a, a.ruled_out))), None)


def _allows(q: Question, j: Join, a: Alternative, reason: Reason) -> str | None:
    if reason.code in _IMPOSSIBLE:
        return None
    if reason.code == "NOT_EQUI_JOIN":
        return "an equality between columns of both sides in the join's condition"
    if reason.code == "BROADCAST_MAY_TIME_OUT":
        return "SET spark.sql.adaptive.enabled=true"
    if reason.code in _ROWS_UNKNOWN:
        return _statistics(q, j) or hint(q, j, a)
    if reason.setting == _BROADCAST_LIMIT:
        return f"SET {_BROADCAST_LIMIT}={_megabytes(reason.args.get('bytes'))}"
    if reason.setting:
        return f"another value of {reason.setting}"
    return hint(q, j, a)


def _statistics(q: Question, j: Join) -> str | None:
    tables = [t for n in (*j.left.tables, *j.right.tables) if (t := q.table(n)) and t.rows is None]
    statements = dict.fromkeys(t.analyze for t in tables if t.analyze)
    if statements:
        return "; ".join(statements)
    names = listed(list(dict.fromkeys(full_name(t) for t in tables)))
    return f"{names} as Parquet, ORC or a table of the catalog, so that the rows are known" if names else None


def _megabytes(n: float | None) -> str:
    return f"{math.ceil((n or 0) / 2**20) or 1}m"


ANSWERS: dict[str, Callable[[Question], Answer]] = {
    "broadcast": partial(_answer, "broadcast hash"),
    "hash": partial(_answer, "shuffled hash"),
    "merge": partial(_answer, "sort-merge"),
    "nested loop": partial(_answer, "broadcast nested loop"),
    "cartesian": partial(_answer, "cartesian"),
}
