"""Two suites of queries made for runtime filters: `useless`, whose filters remove nothing, and `multihop`.

useless asks what a filter costs that saves nothing: its build sides carry predicates that look selective and are true
for every row. multihop asks what is gained when the keys of a far table are carried over several joins to the fact.
"""

from __future__ import annotations

# Over TPC-H; each predicate holds for every row.
USELESS = {
    "u1": "SELECT count(*), sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
    "WHERE o_clerk LIKE 'Clerk#%'",
    "u2": "SELECT o_orderpriority, count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
    "WHERE o_totalprice > 0 GROUP BY o_orderpriority",
    "u3": "SELECT p_size, sum(l_extendedprice) FROM lineitem JOIN part ON l_partkey = p_partkey "
    "WHERE p_retailprice + p_size > 0 GROUP BY p_size",
    "u4": "SELECT n_name, sum(l_extendedprice) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey "
    "JOIN nation ON s_nationkey = n_nationkey WHERE s_phone LIKE '%-%' GROUP BY n_name",
    "u5": "SELECT c_mktsegment, count(*) FROM orders JOIN customer ON o_custkey = c_custkey "
    "WHERE lower(c_name) LIKE 'customer%' GROUP BY c_mktsegment",
    "u6": "SELECT c_mktsegment, sum(l_quantity) FROM customer JOIN orders ON c_custkey = o_custkey "
    "JOIN lineitem ON l_orderkey = o_orderkey "
    "WHERE c_acctbal > -100000 AND o_comment IS NOT NULL "
    "GROUP BY c_mktsegment",
    "u7": "SELECT count(*) FROM lineitem WHERE EXISTS (SELECT * FROM orders WHERE o_orderkey = l_orderkey "
    "AND o_totalprice > o_shippriority)",
    "u8": "SELECT sum(ps_supplycost), sum(l_quantity) FROM lineitem JOIN partsupp ON l_partkey = ps_partkey "
    "AND l_suppkey = ps_suppkey WHERE ps_availqty >= 0 AND length(ps_comment) > 0",
    "u9": "SELECT count(*) FROM lineitem JOIN (SELECT l_partkey AS k, avg(l_quantity) AS q FROM lineitem "
    "GROUP BY l_partkey) ON l_partkey = k WHERE q > 0",
    "u10": "SELECT r_name, count(*) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey "
    "JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey "
    "WHERE r_name LIKE '%A%' OR r_name LIKE '%E%' GROUP BY r_name",
}

# Keys of a chain's tables, the fact first; each is a quarter or less of the one before.
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


def multihop() -> dict[str, str]:
    """Chains of 3 to 6 hops, asked for 2% of their last table, and snowflakes asked for parts of 1 to 3 arms' ends."""
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
