"""Jobs of many small queries, without and with Springbok: there is little to gain, and nothing may be lost."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness import jobs, runner
from benchmarks.harness.arms import ARMS, Arm
from benchmarks.harness.results import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EDGES = 20_000
_PERSONS = 4_000
_SALES = 200_000
# Who runs such jobs sets it: with 200 partitions nearly all time is the scheduling of empty tasks.
_PARTITIONS = {"spark.sql.shuffle.partitions": "8"}

_NO_REPORTS = {"spark.springbok.report.retained": "0", "spark.springbok.report.events": "false"}
_JOB_ARMS = {
    "Spark": ARMS["spark"],
    "Springbok": ARMS["springbok"],
    "without a budget": ARMS["without-budget"],
    "without reports": Arm("", springbok=True, settings=_NO_REPORTS),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which jobs, in which arms, and how often."""
    parser.add_argument("--jobs", default=",".join(_JOBS), help="some of the jobs")
    parser.add_argument("--arms", default=",".join(_JOB_ARMS), help="some of the arms, Spark first")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each job in each arm, after one that is not")


def run(args: argparse.Namespace) -> Table:
    """One row for each job and arm.

    Raises:
        SpringbokError: the answers of the arms differ.
    """
    details = {}
    rows: list[list[Any]] = [jobs.HEAD]
    with tempfile.TemporaryDirectory() as folder:
        spark = runner.session(args.master, args.memory, _PARTITIONS)
        _tables(spark, Path(folder))
        for name in args.jobs.split(","):
            arms = {arm: _JOB_ARMS[arm] for arm in args.arms.split(",")}
            measured = jobs.measured(spark, name, _JOBS[name], arms, args.runs)
            details[name] = {arm: r.seconds for arm, r in measured.items()}
            rows += jobs.rows(name, measured)
        spark.stop()
    return Table("iterative", "Jobs of many small queries", rows, {"runs": details})


def _tables(spark: SparkSession, folder: Path) -> None:
    """Small files, with skewed keys that are the same in each run."""
    persons = (
        "id",
        "concat('first', pmod(hash(id % 997), 60)) AS first",
        "concat('last', pmod(hash(id % 1499), 200)) AS last",
        "date_add(DATE'1950-01-01', pmod(hash(id % 2003), 20000)) AS born",
        "concat('city', pmod(hash(id % 499), 40)) AS city",
    )
    sales = (
        "id",
        "id % 365 AS day",
        "pmod(hash(id), 2000) AS item",
        "pmod(hash(id, 1), 100) AS shop",
        "CAST(pmod(hash(id, 2), 10000) AS DECIMAL(12, 2)) AS price",
    )
    made = {
        "edges": spark.range(_EDGES).selectExpr("pmod(hash(id), 8000) AS src", "pmod(hash(id, 7), 8000) AS dst"),
        "persons": spark.range(_PERSONS).selectExpr(*persons),
        "sales": spark.range(_SALES).selectExpr(*sales),
        "days": spark.range(365).selectExpr("id AS day", "id DIV 31 AS month", "id % 7 AS weekday"),
        "items": spark.range(2000).selectExpr("id AS item", "id % 20 AS brand", "id % 7 AS class"),
        "shops": spark.range(100).selectExpr("id AS shop", "id % 9 AS region"),
    }
    for name, rows in made.items():
        rows.write.parquet(f"{folder}/{name}")
        spark.sql(f"CREATE TABLE {name} USING parquet LOCATION '{folder}/{name}'")


def _components(spark: SparkSession) -> tuple[Any, int]:
    """Connected components: each node takes the smallest label of its neighbours until no label changes."""
    both = "SELECT src, dst FROM edges UNION ALL SELECT dst, src FROM edges"
    edges = spark.sql(both).distinct().cache()
    labels = edges.selectExpr("src AS node", "src AS label").distinct()
    queries, last = 0, -1
    while True:
        least = edges.join(labels, edges.dst == labels.node).groupBy("src").agg({"label": "min"})
        least = least.toDF("node", "least")
        labels = labels.join(least, "node", "left").selectExpr("node", "least(label, least) AS label").localCheckpoint()
        total = labels.agg({"label": "sum"}).collect()[0][0]
        queries += 2
        if total == last:
            return (labels.select("label").distinct().count(), total), queries + 1
        last = total


def _em(spark: SparkSession) -> tuple[Any, int]:
    """Linking records: pairs by four blocking rules, and 10 rounds of expectation maximization over their patterns."""
    persons = spark.table("persons").repartition(4).cache()
    rules = ("first = r_first AND last = r_last", "born = r_born", "last = r_last AND city = r_city", "city = r_city")
    right = persons.toDF(*(f"r_{c}" for c in persons.columns)).cache()
    pairs: DataFrame | None = None
    for i, rule in enumerate(rules):
        found = persons.alias("l").join(right.alias("r"), _condition(rule))
        for before in rules[:i]:
            found = found.where(f"NOT coalesce({before}, false)")
        pairs = found if pairs is None else pairs.unionByName(found)
    assert pairs is not None
    agree = [f"CAST({c} = r_{c} AS INT) AS {c}" for c in persons.columns[1:]]
    patterns = pairs.selectExpr(*agree).groupBy(*persons.columns[1:]).count().cache()
    patterns.count()
    return _maximized(spark, patterns, persons.columns[1:])


def _condition(rule: str) -> Any:
    from pyspark.sql import functions as f

    return f.expr(f"{rule} AND id < r_id")


def _maximized(spark: SparkSession, patterns: DataFrame, columns: list[str]) -> tuple[Any, int]:
    """The parameters after 10 rounds; each round joins the patterns with one table of parameters a column."""
    parameters = {c: [(0, 0.1, 0.9), (1, 0.9, 0.1)] for c in columns}
    share, rounds = 0.1, 10
    for _ in range(rounds):
        scored = patterns
        for c in columns:
            values = ", ".join(f"({v}, {m}D, {u}D)" for v, m, u in parameters[c])
            scored = scored.join(spark.sql(f"SELECT * FROM VALUES {values} AS t({c}, m_{c}, u_{c})"), c)
        match, other = (" * ".join(f"{x}_{c}" for c in columns) for x in ("m", "u"))
        weight = f"{share} * {match} / ({share} * {match} + (1 - {share}) * {other})"
        scored = scored.selectExpr("*", f"round({weight}, 9) AS weight").cache()
        totals = scored.selectExpr("sum(weight * count)", "sum((1 - weight) * count)", "sum(count)").collect()[0]
        sums = " UNION ALL ".join(
            f"SELECT '{c}' AS name, {c} AS value, sum(weight * count) AS m, sum((1 - weight) * count) AS u"
            f" FROM {{scored}} GROUP BY {c}"
            for c in columns
        )
        for name, value, m, u in spark.sql(sums, scored=scored).collect():
            parameters[name] = [p for p in parameters[name] if p[0] != value]
            parameters[name].append((value, round(m / totals[0], 6), round(u / totals[1], 6)))
        share = round(totals[0] / totals[2], 6)
    return (share, {c: sorted(p) for c, p in parameters.items()}), 2 * rounds + 1


def _pagerank(spark: SparkSession) -> tuple[Any, int]:
    """Ten rounds of PageRank."""
    edges = spark.table("edges").distinct().cache()
    degrees = edges.groupBy("src").count().toDF("src", "degree").cache()
    ranks = degrees.selectExpr("src AS node", "1000000L AS rank").cache()
    rounds = 10
    for _ in range(rounds):
        given = edges.join(degrees, "src").join(ranks, edges.src == ranks.node)
        got = given.selectExpr("dst AS node", "rank DIV degree AS part").groupBy("node").agg({"part": "sum"})
        ranks = got.toDF("node", "got").selectExpr("node", "150000L + got * 85 DIV 100 AS rank").cache()
        ranks.count()
    return ranks.selectExpr("sum(rank)", "max(rank)").collect(), rounds + 1


def _models(spark: SparkSession) -> tuple[Any, int]:
    """100 models, each a table made of the one before and two dimensions."""
    made = 100
    for i in range(made):
        source = f"model{i - 1}" if i else "(SELECT * FROM sales WHERE day < 40)"
        spark.sql(f"DROP TABLE IF EXISTS model{i}")
        spark.sql(
            f"CREATE TABLE model{i} USING parquet AS SELECT s.* FROM {source} s"
            f" JOIN items i ON s.item = i.item JOIN days d ON s.day = d.day"
            f" WHERE i.brand <> {i % 20} OR d.weekday <> {i % 7}"
        )
    answer = spark.sql(f"SELECT count(*), sum(price) FROM model{made - 1}").collect()
    for i in range(made):
        spark.sql(f"DROP TABLE model{i}")
    return answer, made + 1


def _dashboard(spark: SparkSession) -> tuple[Any, int]:
    """50 tiles: one fact table, three dimensions, other filters in each."""
    tiles = [
        "SELECT i.brand, d.month, sum(s.price) FROM sales s JOIN items i ON s.item = i.item"
        f" JOIN days d ON s.day = d.day JOIN shops p ON s.shop = p.shop"
        f" WHERE d.month = {n % 12} AND p.region = {n % 9} AND i.class <> {n % 7}"
        " GROUP BY i.brand, d.month ORDER BY 1, 2"
        for n in range(50)
    ]
    return [spark.sql(t).collect() for t in tiles], len(tiles)


_JOBS: dict[str, jobs.Job] = {
    "connected components": _components,
    "EM of record linkage": _em,
    "PageRank": _pagerank,
    "100 chained models": _models,
    "dashboard of 50 queries": _dashboard,
}
