"""Times the join strategy that Springbok chooses against every hinted alternative, Spark's default and Spark's CBO.

Two-table joins, runtime filters off so that only the strategy differs. Plans that come out the same under different
hints are one plan: its time is the median of all its runs, so that equal plans never differ by noise.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import springbok
from pyspark.sql import DataFrame, SparkSession

from benchmarks.arms import Arm, applied

HINTS = ("BROADCAST(l)", "BROADCAST(r)", "SHUFFLE_HASH(l)", "SHUFFLE_HASH(r)", "MERGE(l)")
# Sides of more bytes, as their columns are wide, are not broadcast by hint: the driver has a heap of 3 GB.
BROADCAST_ROWS = 3_000_000
CBO = {f"spark.sql.cbo.{key}": "true" for key in ("enabled", "planStats.enabled", "joinReorder.enabled")}
PLANNERS = {
    "springbok": Arm("springbok", springbok=True),
    "spark": Arm("spark", springbok=False),
    # Its tables are analyzed, all columns.
    "cbo": Arm("cbo", springbok=False, settings=CBO),
}
LABELS = {"springbok": "Springbok", "spark": "Spark", "cbo": "Spark with CBO and ANALYZE"}


@dataclass(frozen=True)
class Case:
    """A join: its sides as FROM items l and r, how they are joined, and what is read of the result."""

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


def _shapes() -> Iterator[Case]:
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
    for kind in ("LEFT JOIN", "RIGHT JOIN", "FULL JOIN"):
        yield Case(f"{kind} 1e6 1e5", "n1000000", "n100000", kind=kind)
        yield Case(f"{kind} 1e5 1e6", "n100000", "n1000000", kind=kind)
    for kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN"):
        for a, b in (("n1000000", "n100000"), ("n100000", "n1000000"), ("n3000000", "n1000000")):
            yield Case(f"{kind} {a} {b}", a, b, kind=kind, select="count(*), sum(l.v)")
    guess = "(SELECT * FROM n3000000 WHERE pmod(hash(v), {n}) = 0)"
    for n in (2, 20, 1000):
        yield Case(f"guess 1 of {n}", "n3000000", guess.format(n=n))
    yield Case("skew probe 1e5", "skewed", "n100000")
    yield Case("skew probe 1e6", "skewed", "n1000000")
    yield Case("skew aggregated", "n3000000", "(SELECT k, sum(v) AS v FROM skewed GROUP BY k)")
    yield Case("text keys 1e5", "w300000", "w100000", on="l.s0 = r.s0", select="count(*), sum(l.v)")
    yield Case("two keys", "n1000000", "n100000", on="l.k = r.k AND l.v = r.v")
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
    loop = ("BROADCAST(l)", "BROADCAST(r)", "SHUFFLE_REPLICATE_NL(l)")
    yield Case("range 1e4 1e3", "n10000", "n1000", on="l.k > r.k", hints=loop)
    yield Case("range 1e3 1e5", "n1000", "n100000", on="l.k > r.k AND l.v <> r.v", hints=loop)


def _tpch() -> Iterator[Case]:
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
    return [*_sizes(), *_shapes(), *_tpch()]


def tables(spark: SparkSession, folder: Path, tpch: Path) -> None:
    """Make what is not there yet, and name everything twice: without statistics and with them."""
    for n in (1_000, 10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000):
        # Keys in no order, each once; tables of different sizes share the smaller one's keys.
        _files(folder / f"n{n}", spark.range(n).selectExpr(f"pmod(id * 7919, {n}) AS k", "id % 1000003 AS v"))
    for n in (1_000, 10_000, 100_000, 300_000):
        text = ", ".join(f"concat('text {i} of row ', id, ' ', repeat('x', 20)) AS s{i}" for i in range(10))
        _files(folder / f"w{n}", spark.sql(f"SELECT pmod(id * 7919, {n}) AS k, id AS v, {text} FROM range({n})"))
    skewed = "SELECT if(id % 2 = 0, 7, pmod(id * 7919, 3000000)) AS k, id AS v FROM range(3000000)"
    _files(folder / "skewed", spark.sql(skewed))
    for n in (100_000, 1_000_000, 3_000_000):
        if not (folder / f"b{n}" / "_SUCCESS").exists():
            rows = spark.read.parquet(str(folder / f"n{n}")).repartition(16, "k")
            rows.write.bucketBy(16, "k").option("path", str(folder / f"b{n}")).saveAsTable(f"b{n}")
            spark.sql(f"DROP TABLE b{n}")
    for database in ("plain", "cbo"):
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        spark.sql(f"USE {database}")
        for path in [*folder.glob("[nwsb]*"), *tpch.glob("*.parquet")]:
            if path.name == "warehouse" or path.suffix not in ("", ".parquet"):
                continue
            buckets = "CLUSTERED BY (k) INTO 16 BUCKETS" if path.name[0] == "b" else ""
            columns = "(k BIGINT, v BIGINT)" if buckets else ""
            spark.sql(f"CREATE TABLE {path.stem} {columns} USING parquet {buckets} LOCATION '{path}'")
            if database == "cbo":
                spark.sql(f"ANALYZE TABLE {path.stem} COMPUTE STATISTICS FOR ALL COLUMNS")


def _files(path: Path, df: DataFrame) -> None:
    if not (path / "_SUCCESS").exists():
        df.coalesce(4).write.mode("overwrite").parquet(str(path))


def measure(spark: SparkSession, case: Case) -> dict[str, Any]:
    """All arms of a case, warmed up once, then in turns."""
    arms = {**dict.fromkeys(PLANNERS, ""), **{h: h for h in case.hints}}
    seen: dict[str, dict[str, Any]] = {}
    for turn in range(case.runs + 1):
        for arm, hint in arms.items():
            if turn == 0 or arm in seen:
                seconds, plan, reason = _run(spark, case, arm, hint)
                if hint and reason != "USER_HINT":
                    continue  # the type of join cannot follow it
                entry = seen.setdefault(arm, {"plan": plan, "reason": reason, "seconds": []})
                if turn > 0:
                    entry["seconds"].append(round(seconds, 4))
    plans: dict[str, list[float]] = {}
    for entry in seen.values():
        plans.setdefault(entry["plan"], []).extend(entry["seconds"])
    times = {p: statistics.median(s) for p, s in plans.items()}
    best = min(times, key=lambda p: times[p])
    regret = {arm: round(times[seen[arm]["plan"]] / times[best], 3) for arm in PLANNERS}
    return {"name": case.name, "sql": case.sql(), "best": best, "regret": regret, "arms": seen}


def _run(spark: SparkSession, case: Case, arm: str, hint: str) -> tuple[float, str, str]:
    sql = (
        case.sql(hint)
        if case.right
        else f"SELECT count(*), sum(v) FROM {case.left}".format(hint=f"/*+ {hint} */" if hint else "")
    )
    planner = PLANNERS.get(arm, PLANNERS["springbok"])
    with applied(spark, planner):
        spark.sql(f"USE {'cbo' if arm == 'cbo' else 'plain'}")
        df = spark.sql(sql)
        start = time.perf_counter()
        df.collect()
        seconds = time.perf_counter() - start
        joins = springbok.report(df).joins
    reason = joins[-1].reason if joins else None
    return seconds, _plan(df), reason.code if reason else ""


def _plan(df: DataFrame) -> str:
    """The joins of the plan that ran, with what they build, and its exchanges."""
    text = df._jdf.queryExecution().executedPlan().toString().split("== Initial Plan ==")[0]
    names = ("BroadcastHashJoin", "ShuffledHashJoin", "SortMergeJoin", "BroadcastNestedLoopJoin", "CartesianProduct")
    lines = [line for line in text.splitlines() if any(n in line for n in names)]
    joins = [
        next(n for n in names if n in x) + ("L" if "BuildLeft" in x else "R" if "BuildRight" in x else "")
        for x in lines
    ]
    return " ".join([*joins, f"exchanges={text.count(' Exchange ')}"])


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Share of joins within 10% of the best plan, geometric mean and worst regret."""
    out: dict[str, Any] = {"joins": len(results)}
    for arm in PLANNERS:
        regrets = [r["regret"][arm] for r in results]
        worst = max(results, key=lambda r: r["regret"][arm])
        out[arm] = {
            "within_10_percent": round(sum(x <= 1.1 for x in regrets) / len(regrets), 3),
            "geomean": round(statistics.geometric_mean(regrets), 3),
            "worst": max(regrets),
            "worst_join": worst["name"],
        }
    return out


def main() -> None:
    """Measure the joins that the file of results does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1e9, help="start no join after so long")
    parser.add_argument("--only", default="", help="joins whose name has this text")
    parser.add_argument("--data", type=Path, default=Path(".cache/join_choice"))
    parser.add_argument("--tpch", type=Path, default=Path(".cache/tpch/sf1"))
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/join-choice.json"))
    parser.add_argument("--prepare", action="store_true", help="make the tables and stop")
    args = parser.parse_args()
    data = args.data.resolve()
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "3g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(data / "warehouse"))
    )
    spark = springbok.configure(builder, runtimeFilter_mode="OFF").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    tables(spark, data, args.tpch.resolve())
    if args.prepare:
        return
    results = {r["name"]: r for r in json.loads(args.json.read_text())["results"]} if args.json.exists() else {}
    end = time.monotonic() + args.seconds
    for case in (c for c in cases() if args.only in c.name and c.name not in results):
        if time.monotonic() > end:
            print("Stopped in time; the same command goes on with the joins that are left.")
            break
        r = measure(spark, case)
        results[case.name] = r
        line = "  ".join(f"{a} {e['plan']} {min(e['seconds']):.3f}" for a, e in r["arms"].items())
        print(f"{r['name']}: {r['regret']}  best {r['best']}\n    {line}", flush=True)
        _write(args.json, [results[c.name] for c in cases() if c.name in results])
    print(json.dumps(summary(list(results.values())), indent=1))


def _write(path: Path, results: list[dict[str, Any]]) -> None:
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(terse=True), "master": "local[2]", "driver": "3g"}
    head = {
        "title": "The chosen join strategy against each legal hinted one",
        "command": "python -m benchmarks.join_choice --tpch TPCH",
        "spark": pyspark.__version__,
        "springbok": springbok.__version__,
        "machine": machine,
    }
    figures = summary(results)
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {**head, "summary": figures, "table": table(figures), "results": results}
    path.write_text(json.dumps(document, indent=1) + "\n")


def table(figures: dict[str, Any]) -> list[list[str]]:
    """The summary as rows for the page."""
    rows = [["planner", "joins", "within 10% of the best", "geomean of regret", "worst", "at"]]
    for arm in PLANNERS:
        f = figures[arm]
        share = f"{f['within_10_percent']:.1%}"
        rows.append(
            [LABELS[arm], str(figures["joins"]), share, f"{f['geomean']:.3f}x", f"{f['worst']:.2f}x", f["worst_join"]]
        )
    return rows


if __name__ == "__main__":
    main()
