"""The join strategy that Springbok chooses against each hinted one, Spark's default and Spark's CBO.

The study times joins of two tables without runtime filters, so that only the strategies differ. Equal plans under
different hints count as one plan: its time is the median of all its runs, so equal plans never differ by noise. The
joins measured so far are kept in the data folder, so the same command continues a run that was stopped.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import springbok
from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness import data, results, runner
from benchmarks.harness.arms import Arm, applied
from benchmarks.harness.results import Table
from benchmarks.studies import join_tables
from benchmarks.studies.join_cases import Case, cases

_CBO = {f"spark.sql.cbo.{key}": "true" for key in ("enabled", "planStats.enabled", "joinReorder.enabled")}
PLANNERS = {
    "springbok": Arm("springbok", springbok=True),
    "spark": Arm("spark", springbok=False),
    # All columns of its tables are analyzed.
    "cbo": Arm("cbo", springbok=False, analyzed=True, settings=_CBO),
}
LABELS = {"springbok": "Springbok", "spark": "Spark", "cbo": "Spark with CBO and ANALYZE"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Which joins, and for how long."""
    parser.add_argument("--scale", type=float, default=1, help="of TPC-H")
    parser.add_argument("--only", default="", help="joins whose name contains this text")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no join after so long")
    parser.set_defaults(memory="3g")


def run(args: argparse.Namespace) -> Table:
    """Measure the joins that have not been measured yet."""
    folder = (args.data / "join-choice").resolve()
    chosen = [c for c in cases() if args.only in c.name]
    settings = {"spark.springbok.runtimeFilter.mode": "OFF", "spark.sql.warehouse.dir": str(folder / "warehouse")}
    spark = runner.session(args.master, args.memory, settings)
    join_tables.make(spark, folder, data.folder(spark, args.data, "tpch", args.scale, "plain").resolve(), chosen)
    measured = _measure_all(spark, chosen, folder / "measured.json", time.monotonic() + args.seconds)
    spark.stop()
    figures = summary(measured)
    title = "The chosen join strategy against each legal hinted one"
    return Table("join-choice", title, table(figures), {"summary": figures, "results": measured})


def _measure_all(spark: SparkSession, chosen: list[Case], path: Path, end: float) -> list[dict[str, Any]]:
    found = results.read(path) if path.exists() else {}
    for case in (c for c in chosen if c.name not in found):
        if time.monotonic() > end:
            print("Stopped in time: the same command continues with the joins that are left.")
            break
        r = measure(spark, case)
        found[case.name] = r
        line = "  ".join(f"{a} {e['plan']} {min(e['seconds']):.3f}" for a, e in r["arms"].items())
        print(f"{r['name']}: {r['regret']}  best {r['best']}\n    {line}", flush=True)
        results.write(path, found)
    return [found[c.name] for c in chosen if c.name in found]


def measure(spark: SparkSession, case: Case) -> dict[str, Any]:
    """All planners and hints of a case by turns, after one warm-up."""
    arms = {**dict.fromkeys(PLANNERS, ""), **{h: h for h in case.hints}}
    seen: dict[str, dict[str, Any]] = {}
    for turn in range(case.runs + 1):
        for arm, hint in arms.items():
            if turn == 0 or arm in seen:
                seconds, plan, reason = _run(spark, case, arm, hint)
                if hint and reason != "USER_HINT":
                    continue  # this type of join cannot follow the hint
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
    """The joins of the executed plan with their build sides, and the number of its exchanges."""
    text = df._jdf.queryExecution().executedPlan().toString().split("== Initial Plan ==")[0]
    names = ("BroadcastHashJoin", "ShuffledHashJoin", "SortMergeJoin", "BroadcastNestedLoopJoin", "CartesianProduct")
    lines = [line for line in text.splitlines() if any(n in line for n in names)]
    joins = [
        next(n for n in names if n in x) + ("L" if "BuildLeft" in x else "R" if "BuildRight" in x else "")
        for x in lines
    ]
    return " ".join([*joins, f"exchanges={text.count(' Exchange ')}"])


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The share of joins within 10% of the best plan, and the geometric mean and maximum of the regret."""
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


def table(figures: dict[str, Any]) -> list[list[str]]:
    """One row a planner."""
    rows = [["planner", "joins", "within 10% of the best", "geomean of regret", "worst", "worst join"]]
    for arm in PLANNERS:
        f = figures[arm]
        share = f"{f['within_10_percent']:.1%}"
        rows.append(
            [LABELS[arm], str(figures["joins"]), share, f"{f['geomean']:.3f}x", f"{f['worst']:.2f}x", f["worst_join"]]
        )
    return rows
