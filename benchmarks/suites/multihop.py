"""Chains and snowflakes of joins: what is gained when the keys of a far table filter the fact table."""

from __future__ import annotations

# Rows of a chain's tables, the fact table first; each has a quarter of the rows before it or fewer.
_CHAIN_ROWS = (6_000_000, 1_000_000, 200_000, 40_000, 8_000, 1_600, 320)
_ARMS, _DEPTH = 3, 2


def tables(scale: float) -> dict[str, str]:
    """c0 to c6, each with a key into the next, and a snowflake: s with arms of two tables, s1_1 to s3_2."""
    made = {}
    for i, rows in enumerate(_CHAIN_ROWS):
        n = max(10, int(rows * scale))
        below = max(10, int(_CHAIN_ROWS[i + 1] * scale)) if i + 1 < len(_CHAIN_ROWS) else 10
        made[f"c{i}"] = _table(n, _key(below, i) + " AS fk")
    fact = ", ".join(f"{_key(int(400_000 * scale), 10 + a)} AS fk{a}" for a in range(1, _ARMS + 1))
    made["s"] = _table(int(6_000_000 * scale), fact)
    for a in range(1, _ARMS + 1):
        made[f"s{a}_1"] = _table(int(400_000 * scale), _key(int(20_000 * scale), 20 + a) + " AS fk")
        made[f"s{a}_2"] = _table(int(20_000 * scale), "CAST(0 AS BIGINT) AS fk")
    return made


def _key(below: int, salt: int) -> str:
    return f"CAST(hash(i * 101 + {salt}) % {below} AS BIGINT)"


def _table(rows: int, keys: str) -> str:
    return (
        f"SELECT CAST(i AS BIGINT) AS id, {keys}, CAST(hash(i * 7) % 1000 AS INT) AS v, 'text of row ' || i AS t "
        f"FROM range({rows}) r(i)"
    )


def queries() -> dict[str, str]:
    """Chains of 3 to 6 joins with 2% of the last table, and snowflakes with 20% of the last table of 1 to 3 arms."""
    found = {}
    for hops in range(3, len(_CHAIN_ROWS)):
        joins = " ".join(f"JOIN c{i} ON c{i - 1}.fk = c{i}.id" for i in range(1, hops + 1))
        found[f"chain{hops}"] = (
            f"SELECT c1.v, count(*), sum(c0.v), max(c0.t) FROM c0 {joins} WHERE c{hops}.v < 20 GROUP BY c1.v"
        )
    for asked in range(1, _ARMS + 1):
        joins = " ".join(
            f"JOIN s{a}_1 ON s.fk{a} = s{a}_1.id JOIN s{a}_2 ON s{a}_1.fk = s{a}_2.id" for a in range(1, _ARMS + 1)
        )
        where = " AND ".join(f"s{a}_2.v < 200" for a in range(1, asked + 1))
        found[f"snowflake{asked}"] = f"SELECT s1_1.v, count(*), max(s.t) FROM s {joins} WHERE {where} GROUP BY s1_1.v"
    return found
