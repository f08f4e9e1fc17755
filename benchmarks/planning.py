"""Time that Springbok adds to the planning of a query before it runs: all of TPC-DS, nothing is executed.

Planning is parsing, analysis, optimization and the first physical plan. Rounds over all queries follow one another,
with and without Springbok by turns, after two that warm the JVM up; a query's figure is the median over the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks import runner, suites
from benchmarks.arms import ARMS, Arm, applied


def planned(spark: Any, arm: Arm, sql: str) -> float:
    """Milliseconds from the text to the first physical plan."""
    with applied(spark, arm):
        start = time.perf_counter()
        spark.sql(sql)._jdf.queryExecution().executedPlan()
        return (time.perf_counter() - start) * 1000


def measure(spark: Any, queries: dict[str, str], rounds: int, warmups: int = 2) -> dict[str, tuple[float, float]]:
    """Medians in ms without and with Springbok, by query."""
    times: dict[str, dict[str, list[float]]] = {name: {"S": [], "B": []} for name in queries}
    for n in range(warmups + rounds):
        for name, sql in queries.items():
            for arm in ("S", "B") if n % 2 else ("B", "S"):
                took = planned(spark, ARMS[arm], sql)
                if n >= warmups:
                    times[name][arm].append(took)
    return {name: (statistics.median(t["S"]), statistics.median(t["B"])) for name, t in times.items()}


def table(times: dict[str, tuple[float, float]]) -> list[list[str]]:
    """What is added, and what it is added to."""
    rows = [["ms", "median", "p95", "most"]]
    added = [on - off for off, on in times.values()]
    for name, each in (("Spark's planning", [off for off, _ in times.values()]), ("added by Springbok", added)):
        values = sorted(each)
        figures = (statistics.median(values), values[int(len(values) * 0.95)], values[-1])
        rows.append([name, *(f"{f:.0f}" for f in figures)])
    return rows


def main() -> None:
    """Measure, print the table and write it beside the other results."""
    parser = argparse.ArgumentParser(prog="benchmarks.planning", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--layout", default="clustered")
    parser.add_argument("--queries", default="all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args()
    e = runner.Experiment("tpcds", 1, args.layout, ("S", "B"), 1, 0, "local[2]", args.memory, args.data, {})
    spark = runner.session(e.master, e.memory, {})
    runner.prepare(spark, e)
    where = runner.machine(spark, e.master, e.memory)
    times = measure(spark, suites.chosen("tpcds", args.queries), args.rounds)
    spark.stop()
    rows = table(times)
    for r in rows:
        print(*r, sep="\t")
    for name, (off, on) in sorted(times.items(), key=lambda t: t[1][0] - t[1][1])[:10]:
        print(f"{name}\t{off:.0f}\t{on:.0f}")
    title = "Planning time added before execution, TPC-DS at scale 1"
    command = f"python -m benchmarks.planning --layout {args.layout} --rounds {args.rounds}"
    result = {"title": title, "command": command, **where, "table": rows, "queries": times}
    runner.write(args.out / "planning.json", result)


if __name__ == "__main__":
    main()
