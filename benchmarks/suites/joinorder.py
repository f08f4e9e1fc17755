"""Queries in the shape of the Join Order Benchmark, each of which can be written in any join order.

A query is a set of tables, their predicates and the equalities between them. `joinorder_tables` makes the tables.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

_SEED = 20240817


@dataclass(frozen=True)
class Query:
    """A join query: tables by alias, the equalities between them, and the predicates on single tables."""

    aliases: dict[str, str]
    joins: tuple[tuple[str, str], ...]
    where: str
    select: str

    def sql(self, order: list[str] | None = None) -> str:
        """The query with its joins in this order of aliases; each alias must join with an earlier one."""
        order = order or list(self.aliases)
        text = f"SELECT {self.select}\nFROM {self.aliases[order[0]]} {order[0]}"
        for i, alias in enumerate(order[1:], 1):
            seen = set(order[:i])
            on = [
                f"{a} = {b}" for a, b in self.joins if {_alias(a), _alias(b)} & {alias} and _other(a, b, alias) in seen
            ]
            text += f"\nJOIN {self.aliases[alias]} {alias} ON {' AND '.join(on)}"
        return f"{text}\nWHERE {self.where}"

    def orders(self, n: int) -> list[list[str]]:
        """n different random join orders without cross joins; every call returns the same orders."""
        rng = random.Random(_SEED)
        found: list[list[str]] = []
        for _ in range(100 * n):
            order = [rng.choice(list(self.aliases))]
            while len(order) < len(self.aliases):
                order.append(rng.choice(sorted(self._near(order))))
            if order not in found:
                found.append(order)
            if len(found) == n:
                break
        return found

    def _near(self, order: list[str]) -> set[str]:
        ends = [{_alias(a), _alias(b)} for a, b in self.joins]
        return {x for pair in ends if pair & set(order) for x in pair} - set(order)


def _alias(column: str) -> str:
    return column.split(".")[0]


def _other(a: str, b: str, alias: str) -> str:
    return _alias(b) if _alias(a) == alias else _alias(a)


_ALIASES = {
    "t": "title",
    "kt": "kind_type",
    "ci": "cast_info",
    "n": "name",
    "rt": "role_type",
    "mc": "movie_companies",
    "cn": "company_name",
    "ct": "company_type",
    "mk": "movie_keyword",
    "k": "keyword",
    "mi": "movie_info",
    "it": "info_type",
}
_JOINS = (
    ("t.kind_id", "kt.id"),
    ("ci.movie_id", "t.id"),
    ("ci.person_id", "n.id"),
    ("ci.role_id", "rt.id"),
    ("mc.movie_id", "t.id"),
    ("mc.company_id", "cn.id"),
    ("mc.company_type_id", "ct.id"),
    ("mk.movie_id", "t.id"),
    ("mk.keyword_id", "k.id"),
    ("mi.movie_id", "t.id"),
    ("mi.info_type_id", "it.id"),
)


def _query(aliases: str, where: str, select: str = "count(*), min(t.title), min(t.production_year)") -> Query:
    names = aliases.split()
    joins = tuple((a, b) for a, b in _JOINS if _alias(a) in names and _alias(b) in names)
    return Query({a: _ALIASES[a] for a in names}, joins, where, select)


QUERIES = {
    "j1": _query(
        "t mc cn ct", "cn.country_code = '[de]' AND ct.kind = 'production companies' AND t.production_year > 2010"
    ),
    "j2": _query("t mk k mc cn", "k.keyword = 'keyword-4711' AND cn.country_code = '[us]'"),
    "j3": _query("t mi it mk k", "it.info = 'genres' AND mi.info = 'Western' AND k.keyword LIKE 'keyword-1%'"),
    "j4": _query("t ci n rt", "n.name LIKE 'Bname 1%' AND rt.role = 'director' AND t.production_year < 1960"),
    "j5": _query("t kt ci n", "kt.kind = 'video game' AND n.gender = 'f' AND ci.note = '(voice)'"),
    "j6": _query("t mk k ci n", "k.keyword = 'keyword-99' AND n.name LIKE 'Z%' AND t.production_year > 2005"),
    "j7": _query(
        "t kt mc cn ct mi it",
        "kt.kind = 'movie' AND cn.country_code = '[jp]' AND ct.kind = 'distributors' AND it.info = 'genres' "
        "AND mi.info = 'Horror'",
    ),
    "j8": _query(
        "t ci n rt mc cn", "ci.note = '(voice)' AND cn.country_code = '[jp]' AND n.gender = 'f' AND rt.role = 'actress'"
    ),
    "j9": _query(
        "t mk k mi it mc cn",
        "k.keyword IN ('keyword-500', 'keyword-501', 'keyword-502') AND it.info = 'countries' AND mi.info = 'India' "
        "AND cn.country_code <> '[us]'",
    ),
    "j10": _query(
        "t kt ci n rt mc cn mk k",
        "kt.kind = 'movie' AND k.keyword = 'keyword-12' AND rt.role = 'actor' AND cn.country_code = '[gb]' "
        "AND t.production_year BETWEEN 1990 AND 2000",
    ),
    "j11": _query(
        "t ci n rt mk k mi it",
        "n.name LIKE 'Kname 2%' AND rt.role = 'writer' AND k.keyword LIKE 'keyword-7%' AND it.info = 'genres' "
        "AND mi.info = 'Drama'",
    ),
    "j12": _query(
        "t kt ci n rt mc cn ct mk k mi it",
        "kt.kind = 'episode' AND cn.country_code = '[fr]' AND ct.kind = 'production companies' "
        "AND k.keyword LIKE 'keyword-3%' AND it.info = 'languages' AND rt.role = 'composer' AND n.gender = 'm'",
    ),
}


def queries(n: int) -> dict[str, str]:
    """The texts of n join orders of each query."""
    return {f"{name}-{i}": q.sql(order) for name, q in QUERIES.items() for i, order in enumerate(q.orders(n), 1)}
