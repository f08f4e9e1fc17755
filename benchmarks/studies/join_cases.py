"""The joins of the `join-choice` study: sizes, widths, types, skew, reused shuffles, ranges, and joins of TPC-H."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

HINTS = ("BROADCAST(l)", "BROADCAST(r)", "SHUFFLE_HASH(l)", "SHUFFLE_HASH(r)", "MERGE(l)")
# Larger sides are not broadcast by hint: the driver has a heap of 3 GB.
BROADCAST_ROWS = 3_000_000


@dataclass(frozen=True)
class Case:
    """A join: its sides as FROM items l and r, how they are joined, and what is selected."""

    name: str
    left: str
    right: str
    on: str = "l.k = r.k"
    kind: str = "JOIN"
    select: str = "count(*), sum(l.v), sum(r.v)"
    tail: str = ""
    hints: tuple[str, ...] = HINTS
    runs: int = 2

    def sql(self, hint: str = "") -> str:
        """The query with a hint."""
        mark = f"/*+ {hint} */ " if hint else ""
        return f"SELECT {mark}{self.select} FROM {self.left} l {self.kind} {self.right} r ON {self.on} {self.tail}"


def _hints(left: int, right: int) -> tuple[str, ...]:
    large = [h for side, n in (("l", left), ("r", right)) if n > BROADCAST_ROWS for h in (f"BROADCAST({side})",)]
    if max(left, right) > 5_000_000:  # a hash table of the larger side is never the best, and takes long
        large.append("SHUFFLE_HASH(l)" if left > right else "SHUFFLE_HASH(r)")
    return tuple(h for h in HINTS if h not in large)


def _sizes() -> Iterator[Case]:
    pairs = [(1e3, 1e3), (1e5, 1e3), (1e5, 1e5), (1e6, 1e3), (1e6, 1e4), (1e6, 1e5), (1e6, 1e6), (3e6, 3e5), (3e6, 3e6)]
    pairs += [(1e7, 1e3), (1e7, 1e5), (1e7, 1e6), (1e7, 3e6), (3e7, 1e4), (3e7, 1e6)]
    pairs += [(1e3, 1e5), (1e4, 1e6), (1e5, 3e6), (1e6, 1e7)]
    for left, right in ((int(a), int(b)) for a, b in pairs):
        runs = 1 if max(left, right) > 5_000_000 else 2
        yield Case(f"size {left:.0e} {right:.0e}", f"n{left}", f"n{right}", hints=_hints(left, right), runs=runs)


def _wide() -> Iterator[Case]:
    wide = "count(*), max(r.s0), max(r.s9), sum(l.v)"
    for left, right in (
        ("n1000000", "w1000"),
        ("n1000000", "w10000"),
        ("n1000000", "w100000"),
        ("n3000000", "w100000"),
    ):
        yield Case(f"wide {left} {right}", left, right, select=wide)
    both = "count(*), max(l.s0), max(l.s5), max(r.s9)"
    yield Case("wide w300000 w100000", "w300000", "w100000", select=both)
    yield Case("wide w300000 w300000", "w300000", "w300000", select=both)


def _types() -> Iterator[Case]:
    for kind in ("LEFT JOIN", "RIGHT JOIN", "FULL JOIN"):
        yield Case(f"{kind} 1e6 1e5", "n1000000", "n100000", kind=kind)
        yield Case(f"{kind} 1e5 1e6", "n100000", "n1000000", kind=kind)
    for kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN"):
        for a, b in (("n1000000", "n100000"), ("n100000", "n1000000"), ("n3000000", "n1000000")):
            yield Case(f"{kind} {a} {b}", a, b, kind=kind, select="count(*), sum(l.v)")


def _skew_and_guesses() -> Iterator[Case]:
    guess = "(SELECT * FROM n3000000 WHERE pmod(hash(v), {n}) = 0)"
    for n in (2, 20, 1000):
        yield Case(f"guess 1 of {n}", "n3000000", guess.format(n=n))
    yield Case("skew probe 1e5", "skewed", "n100000")
    yield Case("skew probe 1e6", "skewed", "n1000000")
    yield Case("skew aggregated", "n3000000", "(SELECT k, sum(v) AS v FROM skewed GROUP BY k)")
    yield Case("text keys 1e5", "w300000", "w100000", on="l.s0 = r.s0", select="count(*), sum(l.v)")
    yield Case("two keys", "n1000000", "n100000", on="l.k = r.k AND l.v = r.v")


def _shuffles_saved() -> Iterator[Case]:
    yield Case("bucketed both", "b3000000", "b1000000")
    yield Case("bucketed both, small", "b3000000", "b100000")
    yield Case("bucketed left", "b3000000", "n1000000")
    yield Case("bucketed right", "n3000000", "b1000000")
    by = "(SELECT k, sum(v) AS v FROM n1000000 GROUP BY k)"
    yield Case("aggregate below", "n3000000", by)
    yield Case("aggregate above", "n3000000", "n1000000", select="l.k, sum(r.v)", tail="GROUP BY l.k")
    window = "(SELECT l.k, sum(r.v) OVER (PARTITION BY l.k) AS v FROM {0} l JOIN {1} r ON l.k = r.k)"
    for a, b in (("n1000000", "n1000000"), ("n3000000", "n1000000")):
        hinted = window.format(a, b).replace("SELECT", "SELECT {hint}")
        yield Case(f"window above {a} {b}", hinted, "", on="")


def _ranges() -> Iterator[Case]:
    loop = ("BROADCAST(l)", "BROADCAST(r)", "SHUFFLE_REPLICATE_NL(l)")
    yield Case("range 1e4 1e3", "n10000", "n1000", on="l.k > r.k", hints=loop)
    yield Case("range 1e3 1e5", "n1000", "n100000", on="l.k > r.k AND l.v <> r.v", hints=loop)


def _tpch_tables() -> Iterator[Case]:
    revenue = "count(*), sum(l.l_extendedprice)"
    yield Case(
        "tpch lineitem orders", "lineitem", "orders", "l_orderkey = o_orderkey", select=revenue + ", max(o_orderdate)"
    )
    yield Case("tpch lineitem part", "lineitem", "part", "l_partkey = p_partkey", select=revenue + ", max(p_name)")
    yield Case(
        "tpch lineitem supplier", "lineitem", "supplier", "l_suppkey = s_suppkey", select=revenue + ", max(s_name)"
    )
    two = "l_partkey = ps_partkey AND l_suppkey = ps_suppkey"
    yield Case("tpch lineitem partsupp", "lineitem", "partsupp", two, select=revenue + ", sum(ps_supplycost)")
    names = "count(*), sum(l.o_totalprice), max(c_name)"
    yield Case("tpch orders customer", "orders", "customer", "o_custkey = c_custkey", select=names)
    yield Case("tpch partsupp part", "partsupp", "part", "ps_partkey = p_partkey", select="count(*), max(p_name)")
    yield Case(
        "tpch partsupp supplier", "partsupp", "supplier", "ps_suppkey = s_suppkey", select="count(*), max(s_name)"
    )
    yield Case(
        "tpch customer nation", "customer", "nation", "c_nationkey = n_nationkey", select="count(*), max(n_name)"
    )


def _tpch_queries() -> Iterator[Case]:
    revenue = "count(*), sum(l.l_extendedprice)"
    march = "(SELECT * FROM orders WHERE o_orderdate < DATE'1995-03-15')"
    later = "(SELECT * FROM lineitem WHERE l_shipdate > DATE'1995-03-15')"
    yield Case("tpch q3", later, march, "l_orderkey = o_orderkey", select=revenue + ", max(o_shippriority)")
    late = "(SELECT * FROM lineitem WHERE l_commitdate < l_receiptdate)"
    quarter = "(SELECT * FROM orders WHERE o_orderdate >= DATE'1993-07-01' AND o_orderdate < DATE'1993-10-01')"
    yield Case("tpch q4", quarter, late, "o_orderkey = l_orderkey", "LEFT SEMI JOIN", "count(*), max(o_orderpriority)")
    rest = "(SELECT * FROM orders WHERE o_comment NOT LIKE '%special%requests%')"
    yield Case("tpch q13", "customer", rest, "c_custkey = o_custkey", "LEFT JOIN", "count(*), count(o_orderkey)")
    month = "(SELECT * FROM lineitem WHERE l_shipdate >= DATE'1995-09-01' AND l_shipdate < DATE'1995-10-01')"
    yield Case("tpch q14", month, "part", "l_partkey = p_partkey", select=revenue + ", max(p_type)")
    brand = "(SELECT * FROM part WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX')"
    yield Case("tpch q17", "lineitem", brand, "l_partkey = p_partkey", select=revenue)
    green = "(SELECT * FROM part WHERE p_name LIKE '%green%')"
    yield Case("tpch q9", "lineitem", green, "l_partkey = p_partkey", select=revenue)
    yield Case("tpch q22", "customer", "orders", "c_custkey = o_custkey", "LEFT ANTI JOIN", "count(*), sum(c_acctbal)")
    big = "(SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)"
    yield Case("tpch q18", "orders", big, "o_orderkey = l_orderkey", "LEFT SEMI JOIN", "count(*), sum(o_totalprice)")


def cases() -> list[Case]:
    """All joins, in the order of the results."""
    parts = (_sizes, _wide, _types, _skew_and_guesses, _shuffles_saved, _ranges, _tpch_tables, _tpch_queries)
    return [case for part in parts for case in part()]
