"""The tables of the joinorder suite: a skewed, correlated snowflake like the database of the Join Order Benchmark.

Popular titles have most of the cast, keywords and companies (skew). Year, kind, country and genre are correlated, so
estimates that assume independent columns are wrong.
"""

from __future__ import annotations

_SEED = 20240817
_YEAR = "CAST(2020 - floor(90 * pow({u}, 2)) AS INT)"


def tables(scale: float) -> dict[str, str]:
    """SELECTs that make the tables; scale 1 has 250,000 titles and 3.6 million rows of cast."""
    titles, people, companies, keywords = (int(n * scale) for n in (250_000, 400_000, 24_000, 13_000))
    return (
        _types() | _entities(titles, people, companies, keywords) | _links(scale, titles, people, companies, keywords)
    )


def _types() -> dict[str, str]:
    return {
        "kind_type": "SELECT CAST(i + 1 AS INT) AS id, ['movie','tv series','tv movie','video movie','tv mini series',"
        "'video game','episode'][i + 1] AS kind " + _rows(7),
        "info_type": "SELECT CAST(i + 1 AS INT) AS id, ['runtimes','genres','languages','countries','rating','votes',"
        "'budget','release dates','color info','trivia'][i + 1] AS info " + _rows(10),
        "company_type": "SELECT CAST(i + 1 AS INT) AS id, ['production companies','distributors',"
        "'special effects companies','miscellaneous companies'][i + 1] AS kind " + _rows(4),
        "role_type": "SELECT CAST(i + 1 AS INT) AS id, ['actor','actress','producer','writer','cinematographer',"
        "'composer','costume designer','director','editor','guest','misc','production designer'][i + 1] AS role "
        + _rows(12),
    }


def _entities(titles: int, people: int, companies: int, keywords: int) -> dict[str, str]:
    return {
        "keyword": f"SELECT CAST(i + 1 AS INT) AS id, 'keyword-' || i AS keyword {_rows(keywords)}",
        # Large companies are American.
        "company_name": f"""SELECT CAST(i + 1 AS INT) AS id, 'company ' || i AS name,
            CASE WHEN i < {companies} * 0.1 OR {_draw(1)} < 0.2 THEN '[us]'
                 ELSE ['[gb]','[de]','[fr]','[jp]','[in]','[it]'][1 + CAST(hash(i) % 6 AS INT)] END AS country_code
            {_rows(companies)}""",
        "name": f"""SELECT CAST(i + 1 AS INT) AS id, chr(CAST(65 + hash(i) % 26 AS INT)) || 'name ' || i AS name,
            CASE WHEN {_draw(2)} < 0.62 THEN 'm' WHEN {_draw(2)} < 0.95 THEN 'f' END AS gender {_rows(people)}""",
        # Kinds came with the years: episodes and games are recent.
        "title": f"""SELECT CAST(i + 1 AS INT) AS id, 'title ' || i AS title,
            {_YEAR.format(u=_draw(3))} AS production_year,
            CAST(CASE WHEN {_YEAR.format(u=_draw(3))} < 1960 THEN 1
                      WHEN {_draw(4)} < 0.45 THEN 7 WHEN {_draw(4)} < 0.7 THEN 1
                      ELSE 2 + hash(i) % 5 END AS INT) AS kind_id {_rows(titles)}""",
    }


def _links(scale: float, titles: int, people: int, companies: int, keywords: int) -> dict[str, str]:
    """Tables with many rows a title."""
    return {
        "cast_info": f"""SELECT CAST(i + 1 AS INT) AS id, {_skewed(people, 5)} AS person_id,
            {_skewed(titles, 6, 2)} AS movie_id, CAST(1 + floor(12 * pow({_draw(7)}, 2)) AS INT) AS role_id,
            CASE WHEN {_draw(8)} < 0.1 THEN '(voice)' WHEN {_draw(8)} < 0.2 THEN '(uncredited)' END AS note
            {_rows(int(3_600_000 * scale))}""",
        # Large companies make the popular titles.
        "movie_companies": f"""SELECT CAST(i + 1 AS INT) AS id, {_skewed(titles, 9)} AS movie_id,
            CAST(1 + floor({companies} * pow(({_draw(9)} + {_draw(10)}) / 2, 3)) AS INT) AS company_id,
            CAST(1 + floor(4 * pow({_draw(11)}, 2)) AS INT) AS company_type_id {_rows(int(260_000 * scale))}""",
        "movie_keyword": f"""SELECT CAST(i + 1 AS INT) AS id, {_skewed(titles, 12)} AS movie_id,
            {_skewed(keywords, 13, 4)} AS keyword_id {_rows(int(450_000 * scale))}""",
        "movie_info": f"""SELECT CAST(i + 1 AS INT) AS id, {_skewed(titles, 14, 2)} AS movie_id,
            CAST(1 + i % 10 AS INT) AS info_type_id,
            CASE i % 10 WHEN 1 THEN ['Drama','Comedy','Documentary','Horror','Thriller','Western'][
                   1 + CAST(floor(6 * pow({_draw(15)}, 2)) AS INT)]
                 WHEN 3 THEN ['USA','UK','Germany','France','Japan','India'][
                   1 + CAST(floor(6 * pow({_draw(16)}, 3)) AS INT)]
                 ELSE 'info ' || hash(i) % 1000 END AS info {_rows(int(1_500_000 * scale))}""",
    }


def _draw(salt: int) -> str:
    """A number in [0, 1) that depends on the row only."""
    return f"(hash(i * 1000003 + {salt + _SEED}) % 1000000) / 1e6"


def _skewed(n: int, salt: int, power: int = 3) -> str:
    """A key below n; small keys are far more frequent."""
    return f"CAST(1 + floor({n} * pow({_draw(salt)}, {power})) AS INT)"


def _rows(n: int) -> str:
    return f"FROM range({n}) t(i)"
