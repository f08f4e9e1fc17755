"""A skewed, correlated snowflake in the shape of the Join Order Benchmark, its queries, and their join orders.

The tables of JOB's movie database that its queries join most, made up: popular titles have most of the cast, keywords
and companies (skew), and year, kind, country and genre hang together (correlation), which estimates that take columns
for independent get wrong. A query is a set of tables with predicates and the equalities between them, so that it can be
written in any order of its joins.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

_SEED = 20240817


def tables(scale: float) -> dict[str, str]:
    """SELECTs that make the tables; scale 1 has 250,000 titles and 3.6 million rows of cast."""
    titles, people, companies, keywords = (int(n * scale) for n in (250_000, 400_000, 24_000, 13_000))

    def draw(salt: int) -> str:
        """A number in [0, 1) that depends on the row alone."""
        return f"(hash(i * 1000003 + {salt + _SEED}) % 1000000) / 1e6"

    def skewed(n: int, salt: int, power: int = 3) -> str:
        """A key below n; the small ones are drawn far more often."""
        return f"CAST(1 + floor({n} * pow({draw(salt)}, {power})) AS INT)"

    def rows(n: int) -> str:
        return f"FROM range({n}) t(i)"

    year = "CAST(2020 - floor(90 * pow({u}, 2)) AS INT)"
    return {
        "kind_type": "SELECT CAST(i + 1 AS INT) AS id, ['movie','tv series','tv movie','video movie','tv mini series',"
        "'video game','episode'][i + 1] AS kind " + rows(7),
        "info_type": "SELECT CAST(i + 1 AS INT) AS id, ['runtimes','genres','languages','countries','rating','votes',"
        "'budget','release dates','color info','trivia'][i + 1] AS info " + rows(10),
        "company_type": "SELECT CAST(i + 1 AS INT) AS id, ['production companies','distributors',"
        "'special effects companies','miscellaneous companies'][i + 1] AS kind " + rows(4),
        "role_type": "SELECT CAST(i + 1 AS INT) AS id, ['actor','actress','producer','writer','cinematographer',"
        "'composer','costume designer','director','editor','guest','misc','production designer'][i + 1] AS role "
        + rows(12),
        "keyword": f"SELECT CAST(i + 1 AS INT) AS id, 'keyword-' || i AS keyword {rows(keywords)}",
        # Large companies are American.
        "company_name": f"""SELECT CAST(i + 1 AS INT) AS id, 'company ' || i AS name,
            CASE WHEN i < {companies} * 0.1 OR {draw(1)} < 0.2 THEN '[us]'
                 ELSE ['[gb]','[de]','[fr]','[jp]','[in]','[it]'][1 + CAST(hash(i) % 6 AS INT)] END AS country_code
            {rows(companies)}""",
        "name": f"""SELECT CAST(i + 1 AS INT) AS id, chr(CAST(65 + hash(i) % 26 AS INT)) || 'name ' || i AS name,
            CASE WHEN {draw(2)} < 0.62 THEN 'm' WHEN {draw(2)} < 0.95 THEN 'f' END AS gender {rows(people)}""",
        # Kinds came with the years: episodes and games are recent.
        "title": f"""SELECT CAST(i + 1 AS INT) AS id, 'title ' || i AS title,
            {year.format(u=draw(3))} AS production_year,
            CAST(CASE WHEN {year.format(u=draw(3))} < 1960 THEN 1
                      WHEN {draw(4)} < 0.45 THEN 7 WHEN {draw(4)} < 0.7 THEN 1
                      ELSE 2 + hash(i) % 5 END AS INT) AS kind_id {rows(titles)}""",
        "cast_info": f"""SELECT CAST(i + 1 AS INT) AS id, {skewed(people, 5)} AS person_id,
            {skewed(titles, 6, 2)} AS movie_id, CAST(1 + floor(12 * pow({draw(7)}, 2)) AS INT) AS role_id,
            CASE WHEN {draw(8)} < 0.1 THEN '(voice)' WHEN {draw(8)} < 0.2 THEN '(uncredited)' END AS note
            {rows(int(3_600_000 * scale))}""",
        # Large companies make the popular titles.
        "movie_companies": f"""SELECT CAST(i + 1 AS INT) AS id, {skewed(titles, 9)} AS movie_id,
            CAST(1 + floor({companies} * pow(({draw(9)} + {draw(10)}) / 2, 3)) AS INT) AS company_id,
            CAST(1 + floor(4 * pow({draw(11)}, 2)) AS INT) AS company_type_id {rows(int(260_000 * scale))}""",
        "movie_keyword": f"""SELECT CAST(i + 1 AS INT) AS id, {skewed(titles, 12)} AS movie_id,
            {skewed(keywords, 13, 4)} AS keyword_id {rows(int(450_000 * scale))}""",
        "movie_info": f"""SELECT CAST(i + 1 AS INT) AS id, {skewed(titles, 14, 2)} AS movie_id,
            CAST(1 + i % 10 AS INT) AS info_type_id,
            CASE i % 10 WHEN 1 THEN ['Drama','Comedy','Documentary','Horror','Thriller','Western'][
                   1 + CAST(floor(6 * pow({draw(15)}, 2)) AS INT)]
                 WHEN 3 THEN ['USA','UK','Germany','France','Japan','India'][
                   1 + CAST(floor(6 * pow({draw(16)}, 3)) AS INT)]
                 ELSE 'info ' || hash(i) % 1000 END AS info {rows(int(1_500_000 * scale))}""",
    }


@dataclass(frozen=True)
class Query:
    """A join query: tables by alias, the equalities between them, and what is asked of one table alone."""

    aliases: dict[str, str]
    joins: tuple[tuple[str, str], ...]
    where: str
    select: str

    def sql(self, order: list[str] | None = None) -> str:
        """The query with its joins in this order of aliases; each must join with one before it."""
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
        """n different orders, without cross joins, drawn at random and the same ones every time."""
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
