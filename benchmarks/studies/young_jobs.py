"""The jobs of the study of young JVMs: record linkage, a dbt-like project, a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SOURCES = {
    "persons": (
        26_000,
        "id",
        "concat('f', pmod(hash(id DIV 2), 900) + IF(pmod(hash(id, 1), 9) = 0, 1, 0)) AS first",
        "concat('l', pmod(hash(id DIV 2, 2), 3000) + IF(pmod(hash(id, 3), 11) = 0, 1, 0)) AS last",
        "date_add(DATE'1950-01-01', pmod(hash(id DIV 2, 4), 20000) + IF(pmod(hash(id, 5), 20) = 0, 1, 0)) AS born",
        "concat('c', pmod(hash(id DIV 2, 6), 400)) AS city",
        "IF(pmod(hash(id, 7), 4) = 0, NULL, concat('m', id DIV 2)) AS mail",
    ),
    "orders": (20_000, "id AS oid", "pmod(hash(id), 2000) AS cid", "id % 365 AS day", "pmod(hash(id, 1), 5) AS status"),
    "items": (60_000, "id AS iid", "id DIV 3 AS oid", "pmod(hash(id, 2), 300) AS pid", "1 + pmod(hash(id, 3), 9) AS n"),
    "payments": (20_000, "id AS oid", "pmod(hash(id, 4), 10000) AS cents", "id % 3 AS method"),
    "customers": (2_000, "id AS cid", "concat('name', id) AS name", "id % 20 AS rid"),
    "products": (300, "id AS pid", "concat('product', id) AS title", "100 + id * 7 AS price", "id % 12 AS kind"),
    "regions": (20, "id AS rid", "concat('region', id) AS region"),
}
"""The rows and columns of each source."""
_COLUMNS = ("first", "last", "born", "city", "mail")
_RULES = ("last, born", "first, last", "mail", "born, city", "first, born", "last, city")


class Queries:
    """Runs and counts the queries of a job."""

    ran = 0

    def __init__(self, spark: Any) -> None:
        """Of a session."""
        self.spark = spark

    def rows(self, sql: str) -> list[Any]:
        """The rows of a query."""
        self.ran += 1
        return self.spark.sql(sql).collect()  # type: ignore[no-any-return]

    def cached(self, name: str, sql: str) -> None:
        """Later queries read this one from the cache by this name."""
        self.ran += 1
        df = self.spark.sql(sql).cache()
        df.createOrReplaceTempView(name)
        df.count()

    def table(self, name: str, sql: str) -> None:
        """Makes a table of a query."""
        self.ran += 1
        self.spark.sql(f"CREATE TABLE {name} USING parquet AS {sql}")


def _linkage(q: Queries) -> Any:
    """As Splink links records: blocking rules, expectation maximization over patterns of agreement, clusters."""
    q.spark.conf.set("spark.sql.shuffle.partitions", "8")
    q.cached("p", "SELECT * FROM persons")
    for c in _COLUMNS:
        q.cached(f"tf_{c}", f"SELECT {c}, count(*) / 26000 AS tf FROM p WHERE {c} IS NOT NULL GROUP BY {c}")
    for rule in _RULES:  # how many pairs each rule makes
        q.rows(f"SELECT count(*) FROM p l JOIN p r USING ({rule}) WHERE l.id < r.id")
    levels = ", ".join(
        f"CASE WHEN l.{c} IS NULL OR r.{c} IS NULL THEN -1 WHEN l.{c} = r.{c} THEN 2"
        f" WHEN levenshtein(CAST(l.{c} AS STRING), CAST(r.{c} AS STRING)) <= 1 THEN 1 ELSE 0 END AS g_{c}"
        for c in _COLUMNS
    )
    keys = ", ".join(f"g_{c}" for c in _COLUMNS)
    found = {}
    for n, rule in enumerate(_RULES[:4]):
        q.cached(
            f"pairs{n}", f"SELECT l.id AS a, r.id AS b, {levels} FROM p l JOIN p r USING ({rule}) WHERE l.id < r.id"
        )
        q.cached(f"patterns{n}", f"SELECT {keys}, count(*) AS n FROM pairs{n} GROUP BY {keys}")
        found[rule] = _maximized(q, f"patterns{n}", [c for c in _COLUMNS if c not in rule.split(", ")])
    pairs = " UNION ".join(f"SELECT a, b, g_first + g_last + g_city + g_born AS w FROM pairs{n}" for n in range(4))
    frequencies = " ".join(f"LEFT JOIN tf_{c} ON l.{c} = tf_{c}.{c}" for c in ("first", "last", "city"))
    weight = "round(w - ln(coalesce(tf_first.tf, 1)) - ln(coalesce(tf_last.tf, 1)) - ln(coalesce(tf_city.tf, 1)), 6)"
    sides = f"({pairs}) x JOIN p l ON x.a = l.id JOIN p r ON x.b = r.id"
    # Tables from here on, as in Splink: Spark prints the plan of each cache within those that read it.
    q.table("edges", f"SELECT * FROM (SELECT a, b, {weight} AS w FROM {sides} {frequencies}) WHERE w > 12")
    q.table("c0", "SELECT id AS node, id AS label FROM p")
    for i in range(8):
        ends = (f"SELECT {to} AS a, label FROM edges JOIN c{i} ON {of} = node" for of, to in (("a", "b"), ("b", "a")))
        least = f"SELECT a, min(label) AS least FROM ({' UNION ALL '.join(ends)}) GROUP BY a"
        q.table(f"c{i + 1}", f"SELECT node, least(label, least) AS label FROM c{i} LEFT JOIN ({least}) ON node = a")
        q.rows(f"SELECT count(*) FROM c{i} x JOIN c{i + 1} y ON x.node = y.node WHERE x.label <> y.label")
    return found, q.rows("SELECT count(DISTINCT label), sum(label) FROM c8")


def _maximized(q: Queries, patterns: str, columns: list[str]) -> Any:
    share, m = 0.1, {c: {2: 0.9, 1: 0.07, 0: 0.03} for c in columns}
    u = {c: {2: 0.05, 1: 0.05, 0: 0.9} for c in columns}
    for _ in range(20):
        x, y = (" * ".join(_factor(c, by[c]) for c in columns) for by in (m, u))
        odds = f"SELECT *, {share}D * {x} AS x, {1 - share}D * {y} AS y FROM {patterns}"
        q.cached("scored", f"SELECT *, round(n * x / (x + y), 6) AS w FROM ({odds})")
        sums = [
            f"SELECT '{c}' AS c, g_{c} AS g, sum(w) AS m, sum(n - w) AS u FROM scored GROUP BY g_{c}" for c in columns
        ]
        rows = q.rows(" UNION ALL ".join([*sums, "SELECT '', 0, sum(w), sum(n - w) FROM scored"]))
        total = next(r for r in rows if not r.c)
        share = round(total.m / (total.m + total.u), 6)
        for r in rows:
            if r.c and r.g >= 0:
                m[r.c][r.g], u[r.c][r.g] = round(r.m / total.m, 6) + 1e-6, round(r.u / total.u, 6) + 1e-6
    return share


def _factor(column: str, by: dict[int, float]) -> str:
    return f"CASE {' '.join(f'WHEN g_{column} = {level} THEN {v}D' for level, v in by.items())} ELSE 1D END"


_MODELS = {
    **{f"stg_{s}": f"SELECT * FROM {s}" for s in list(SOURCES)[1:]},
    "paid": "SELECT oid, sum(cents) AS cents FROM stg_payments GROUP BY oid",
    "amounts": "SELECT oid, sum(n * price) AS amount FROM stg_items JOIN stg_products USING (pid) GROUP BY oid",
    "located": "SELECT cid, name, region FROM stg_customers JOIN stg_regions USING (rid)",
    "fct_orders": "SELECT * FROM stg_orders LEFT JOIN paid USING (oid) LEFT JOIN amounts USING (oid)",
    "fct_items": "SELECT n, kind, price, cid, day FROM stg_items JOIN stg_products USING (pid)"
    " JOIN stg_orders USING (oid)",
    "dim_customers": "SELECT cid, name, region, count(oid) AS orders, min(day) AS first, sum(amount) AS v"
    " FROM located LEFT JOIN fct_orders USING (cid) GROUP BY cid, name, region",
    "by_region": "SELECT region, day DIV 31 AS m, sum(amount) AS v FROM fct_orders JOIN located USING (cid)"
    " GROUP BY 1, 2",
    "by_kind": "SELECT kind, region, sum(n * price) AS v FROM fct_items JOIN located USING (cid)"
    " WHERE day > 150 GROUP BY 1, 2",
    "best": "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY region ORDER BY v DESC, cid) AS n"
    " FROM dim_customers) WHERE n <= 3",
}


def _models(q: Queries) -> Any:
    """15 models over six sources, and tests of their keys."""
    for name, sql in _MODELS.items():
        q.table(name, sql)
    for table, key in {
        "stg_orders": "oid",
        "stg_customers": "cid",
        "stg_products": "pid",
        "dim_customers": "cid",
    }.items():
        q.rows(f"SELECT count(*) FROM {table} WHERE {key} IS NULL")
        q.rows(f"SELECT count(*) FROM (SELECT {key} FROM {table} GROUP BY {key} HAVING count(*) > 1)")
    for child, parent, key in (("stg_items", "stg_orders", "oid"), ("fct_orders", "located", "cid")):
        q.rows(f"SELECT count(*) FROM {child} c LEFT JOIN {parent} p ON c.{key} = p.{key} WHERE p.{key} IS NULL")
    return [q.rows(f"SELECT * FROM {t} ORDER BY ALL") for t in ("by_region", "by_kind", "best")]


def _notebook(q: Queries) -> Any:
    """The first ten cells."""
    joined = "orders JOIN items USING (oid) JOIN products USING (pid)"
    cells = (
        "SELECT count(*) FROM orders",
        "SELECT * FROM orders ORDER BY oid LIMIT 20",
        "SELECT status, count(*) FROM orders GROUP BY status ORDER BY 1",
        f"SELECT kind, sum(n * price) FROM {joined} GROUP BY kind ORDER BY 1",
        f"SELECT day DIV 31, kind, sum(n) FROM {joined} WHERE status = 2 GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT name, count(*) FROM customers JOIN orders USING (cid) GROUP BY name ORDER BY 2 DESC, 1 LIMIT 10",
        f"SELECT region, sum(n * price) FROM {joined} JOIN customers USING (cid) JOIN regions USING (rid)"
        " GROUP BY region ORDER BY 1",
        "SELECT count(*) FROM customers c LEFT ANTI JOIN orders o ON c.cid = o.cid AND o.status = 1",
        "SELECT cid, day FROM (SELECT cid, day, row_number() OVER (PARTITION BY cid ORDER BY day, oid) AS n"
        " FROM orders) WHERE n = 1 ORDER BY 1 LIMIT 20",
        "SELECT method, avg(cents), max(amount) FROM payments JOIN (SELECT oid, sum(n) AS amount FROM items"
        " GROUP BY oid) USING (oid) GROUP BY method ORDER BY 1",
    )
    return [q.rows(cell) for cell in cells]


JOBS: dict[str, Callable[[Queries], Any]] = {"linkage": _linkage, "models": _models, "notebook": _notebook}
