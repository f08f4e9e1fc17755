"""`python -m qa.fuzz --seeds 1-50`: random queries; a difference prints its seed and a query made small."""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lake import CATALOGS
from pyspark.sql import SparkSession

from qa.fuzz import changes, engine
from qa.fuzz.data import tables
from qa.fuzz.engine import FORCED, OFF, ON, Answer, Failed, Settings, TooLong
from qa.fuzz.queries import Generator, Query
from qa.fuzz.tree import minimize

# Dynamic pruning that Spark has pushed through a union to a column that is no partition's: interpreted, and with the
# build side broadcast, it fails without Springbok as well.
PRUNED = re.compile(r"IN dynamicpruning#\d+ has not finished")


@dataclass
class Plan:
    """Settings of a run, and what kind of run it is."""

    kind: str
    settings: Settings


@dataclass
class Tally:
    """What was run, and what differed."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


class Fuzzer:
    """Runs seeds, one after the other, in one session."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        queries: int,
        runs: int,
        form: str = "",
        out: Any = sys.stdout,
        always: Settings | None = None,
        steps: int = 0,
    ) -> None:
        self.spark, self.folder, self.queries, self.runs, self.form, self.out = spark, folder, queries, runs, form, out
        # Settings of all runs with Springbok.
        self.always = always or {}
        # How often tables change while a query is run again and again.
        self.steps = steps
        self.tally = Tally()

    def seed(self, seed: int, only: int | None = None) -> None:
        """All queries of a seed, or one of them."""
        r = random.Random(seed)
        data = tables(r)
        where = self.folder / f"seed{seed}"
        try:
            engine.load(self.spark, data, where, r, self.form)
            # DuckDB would keep the tables as they were at first.
            duck = None if self.steps else engine.duck(data)
            for n in range(self.queries):
                # Each query has its own numbers: one can be run alone.
                own = random.Random(seed * 1000 + n)
                query = Generator(own, data).query()
                common, plans = self.plans(own)
                for done, failed in changes.states(self.spark, query.sql(), data, where, own, self.steps):
                    self.changed(f"seed {seed} query {n}{done}", bool(done), failed)
                    if only is None or only == n:
                        self.one(f"seed {seed} query {n}{done}", query, common, plans, duck)
            if duck is not None:
                duck.close()
        finally:
            engine.unload(self.spark, data, where)
            shutil.rmtree(where, ignore_errors=True)
        self.tally.counts["seeds"] += 1

    def plans(self, r: random.Random) -> tuple[Settings, list[Plan]]:
        """The settings of all runs of a query, and those of each."""
        common: Settings = {"spark.sql.ansi.enabled": "false"} if r.random() < 0.7 else {}
        off = [Plan("off", OFF | common | {"spark.sql.adaptive.enabled": "false"})] if r.random() < 0.1 else []
        on = [common | engine.random_settings(r) | self.always for _ in range(self.runs)]
        return common, off + [Plan("on", s) for s in on]

    def changed(self, name: str, done: bool, failed: str | None) -> None:
        """Counts a change of the tables."""
        self.tally.counts["changes"] += done and failed is None
        if failed is not None:
            self.tally.counts["refused changes"] += 1
            self.say(f"{name}: {failed[:300]}", "refused change")

    def one(self, name: str, query: Query, common: Settings, plans: list[Plan], duck: Any) -> None:
        counts = self.tally.counts
        sql = query.sql()
        expected = self.answer(sql, OFF | common)
        counts["queries"] += 1
        if counts["queries"] % 50 == 0:
            print(f"{name}: {dict(counts)}", file=self.out, flush=True)
        if isinstance(expected, TooLong):
            counts["too long"] += 1
            return
        if isinstance(expected, Failed):
            counts["failed without"] += 1
            if "PARSE" in str(expected) or "RESOLVED" in str(expected) or "DATATYPE" in str(expected):
                counts["invalid"] += 1
                self.say(f"{name} is invalid: {str(expected)[:300]}\n  {sql}", "invalid")
            return
        counts["nonempty"] += bool(expected)
        if query.duck and duck is not None:
            self.against_duck(name, sql, expected, duck)
        for plan in plans:
            self.check(name, query, plan, common, expected, self.answer(sql, plan.settings))

    def check(
        self,
        name: str,
        query: Query,
        plan: Plan,
        common: Settings,
        expected: Counter[Any],
        got: Answer,
    ) -> None:
        settings, kind = plan.settings, plan.kind
        self.tally.counts[kind] += 1
        if got == expected or isinstance(got, TooLong):
            self.tally.counts["too long"] += isinstance(got, TooLong)
            return
        # Without broadcasts Spark evaluates other rows: it has to fail under the same settings of its own.
        sparks = {k: v for k, v in settings.items() if not k.startswith("spark.springbok.")}
        if isinstance(got, Failed) and (self.pruned(got) or self.fails_too(query.sql(), common | sparks)):
            return
        first = settings
        for key in [k for k in settings if k != ON and k not in common]:
            fewer = {k: v for k, v in settings.items() if k != key}
            again = self.answer(query.sql(), fewer)
            if again != expected and not isinstance(again, TooLong):
                settings = fewer

        def differs(sql: str) -> bool:
            a, b = self.answer(sql, OFF | common), self.answer(sql, settings)
            return isinstance(a, Counter) and not isinstance(b, TooLong) and a != b

        def described(a: Answer, b: Answer) -> str:
            if isinstance(a, Counter) and isinstance(b, Counter):
                return f"  missing {list((a - b).items())[:5]} more {list((b - a).items())[:5]}"
            return f"  {str(b)[:3000]}"

        lines = [f"DIFFERENCE {name} {kind}"]
        if differs(query.sql()):
            small = minimize(query.tree, differs)
            found = described(self.answer(small, OFF | common), self.answer(small, settings))
        else:
            # What was seen is all there is: the next run answered as it should.
            lines[0] += " (not every time)"
            settings, small, found = first, query.sql(), described(expected, got)
        lines += [f"  {small}", f"  settings {settings | common}", found]
        self.tally.differences.append("\n".join(lines))
        self.say("\n".join(lines), "difference")

    def pruned(self, got: Failed) -> bool:
        """Whether it is Spark's own failure, of dynamic pruning."""
        found = PRUNED.search(str(got)) is not None
        self.tally.counts["Spark's pruning"] += found
        return found

    def fails_too(self, sql: str, common: Settings) -> bool:
        """Whether Spark alone fails as well, at times: what is found to be empty first decides what is evaluated."""
        failed = any(isinstance(self.answer(sql, OFF | common), Failed) for _ in range(8))
        self.tally.counts["fails without at times"] += failed
        return failed

    def against_duck(self, name: str, sql: str, expected: Counter[Any], duck: Any) -> None:
        try:
            got = Counter(engine.normal(row) for row in duck.execute(sql).fetchall())
        except Exception as e:
            self.tally.counts["DuckDB refuses"] += 1
            self.say(f"{name} DuckDB: {str(e)[:200]}", "refused")
            return
        self.tally.counts["DuckDB"] += 1
        if got != expected:
            self.tally.counts["DuckDB differs"] += 1
            self.say(
                f"{name} DuckDB differs\n  {sql}\n  missing {list((expected - got).items())[:4]} "
                f"more {list((got - expected).items())[:4]}",
                "duck",
            )

    def answer(self, sql: str, settings: Settings) -> Answer:
        self.tally.counts["runs"] += 1
        return engine.answer(self.spark, sql, settings)

    def say(self, text: str, kind: str) -> None:
        self.tally.counts[f"said {kind}"] += 1
        if kind == "difference" or self.tally.counts[f"said {kind}"] <= 40:
            print(text, file=self.out, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seeds", default="1-3", help="a seed, or the first and the last one: 1-50")
    parser.add_argument("--queries", type=int, default=50, help="queries of a seed")
    parser.add_argument("--query", type=int, help="only this query of each seed")
    parser.add_argument("--runs", type=int, default=3, help="runs of a query with Springbok")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no seed after that")
    parser.add_argument("--sessions", type=int, default=2, help="seeds at once, each in its own session")
    parser.add_argument("--format", default="", choices=["", *CATALOGS], help="what the tables are kept in")
    parser.add_argument("--one-task", action="store_true", help="one task computes every query that it may")
    parser.add_argument("--changing", action="store_true", help="tables change between runs")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        tally = application(args, Path(folder))
    print(f"{len(tally.differences)} differences")
    return 1 if tally.differences else 0


def application(args: argparse.Namespace, folder: Path) -> Tally:
    """Runs the seeds; returns what was found."""
    start = time.monotonic()
    first, _, last = args.seeds.partition("-")
    seeds = iter(range(int(first), int(last or first) + 1))
    spark = engine.session(folder / "warehouse", args.format)
    steps = 3 if args.changing else 0
    # What is forced by this seed leaves a query to Spark or to one task.
    always: Settings = {FORCED: "0"} if args.one_task else {}
    fuzzers = [
        Fuzzer(
            spark.newSession(),
            folder,
            args.queries,
            args.runs,
            args.format,
            always=always,
            steps=steps,
        )
        for _ in range(args.sessions)
    ]

    def found() -> Tally:
        tallies = [f.tally for f in fuzzers]
        counts = sum((t.counts for t in tallies), Counter[str]())
        return Tally(counts, [d for t in tallies for d in t.differences])

    def minutes() -> float:
        return (time.monotonic() - start) / 60

    def work(fuzzer: Fuzzer) -> None:
        while minutes() <= args.minutes and (seed := next(seeds, None)) is not None:
            fuzzer.seed(seed, args.query)
            print(f"seed {seed}: {minutes():.1f} min {dict(found().counts)}", flush=True)

    with ThreadPoolExecutor(args.sessions) as pool:
        list(pool.map(work, fuzzers))
    spark.stop()
    return found()


if __name__ == "__main__":
    sys.exit(main())
