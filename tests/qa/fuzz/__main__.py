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

from qa.fuzz import engine
from qa.fuzz.data import tables
from qa.fuzz.engine import OFF, ON, Failed, Settings, TooLong
from qa.fuzz.queries import Generator, Query
from qa.fuzz.tree import minimize

# Dynamic pruning that Spark has pushed through a union to a column that is no partition's: interpreted, and with the
# build side broadcast, it fails without Springbok as well.
PRUNED = re.compile(r"IN dynamicpruning#\d+ has not finished")

HISTORY = "spark.springbok.history.enabled"


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
    ) -> None:
        self.spark, self.folder, self.queries, self.runs, self.form, self.out = spark, folder, queries, runs, form, out
        # Settings of all runs with Springbok.
        self.always = always or {}
        self.tally = Tally()

    def seed(self, seed: int, only: int | None = None) -> None:
        """All queries of a seed, or one of them."""
        r = random.Random(seed)
        data = tables(r)
        where = self.folder / f"seed{seed}"
        try:
            engine.load(self.spark, data, where, r, self.form)
            duck = engine.duck(data)
            for n in range(self.queries):
                # Each query has its own numbers: one can be run alone.
                own = random.Random(seed * 1000 + n)
                query = Generator(own, data).query()
                if only is None or only == n:
                    self.one(f"seed {seed} query {n}", query, own, duck)
            duck.close()
        finally:
            engine.unload(self.spark, data, where)
            shutil.rmtree(where, ignore_errors=True)
        self.tally.counts["seeds"] += 1

    def one(self, name: str, query: Query, r: random.Random, duck: Any) -> None:
        counts = self.tally.counts
        sql = query.sql()
        common: Settings = {"spark.sql.ansi.enabled": "false"} if r.random() < 0.7 else {}
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
        if query.duck:
            self.against_duck(name, sql, expected, duck)
        if r.random() < 0.1:
            self.check(name, query, OFF | common | {"spark.sql.adaptive.enabled": "false"}, common, expected, "off")
        for _ in range(self.runs):
            settings = common | engine.random_settings(r) | self.always
            # The second time with the keys of the first.
            for _ in range(2 if HISTORY in settings else 1):
                self.check(name, query, settings, common, expected, "on")

    def check(
        self, name: str, query: Query, settings: Settings, common: Settings, expected: Counter[Any], kind: str
    ) -> None:
        got = self.answer(query.sql(), settings)
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

        def described(a: Counter[Any] | Failed | TooLong, b: Counter[Any] | Failed | TooLong) -> str:
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

    def answer(self, sql: str, settings: Settings) -> Counter[Any] | Failed | TooLong:
        self.tally.counts["runs"] += 1
        try:
            return engine.rows(self.spark, sql, settings)
        except (Failed, TooLong) as e:
            return e

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
    parser.add_argument("--history", action="store_true", help="queries learn from the ones before")
    parser.add_argument("--one-task", action="store_true", help="one task computes every query that it may")
    args = parser.parse_args()
    always = {HISTORY: "true"} if args.history else {}
    if args.one_task:
        # What is forced by this seed leaves a query to Spark or to one task.
        always["spark.springbok.internal.forced"] = "0"
    first, _, last = args.seeds.partition("-")
    start = time.monotonic()
    seeds = iter(range(int(first), int(last or first) + 1))
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        spark = engine.session(Path(folder) / "warehouse", args.format)
        fuzzers = [
            Fuzzer(spark.newSession(), Path(folder), args.queries, args.runs, args.format, always=always)
            for _ in range(args.sessions)
        ]

        def minutes() -> float:
            return (time.monotonic() - start) / 60

        def work(fuzzer: Fuzzer) -> None:
            while minutes() <= args.minutes and (seed := next(seeds, None)) is not None:
                fuzzer.seed(seed, args.query)
                counts = sum((f.tally.counts for f in fuzzers), Counter[str]())
                print(f"seed {seed}: {minutes():.1f} min {dict(counts)}", flush=True)

        with ThreadPoolExecutor(args.sessions) as pool:
            list(pool.map(work, fuzzers))
        spark.stop()
    differences = sum(len(f.tally.differences) for f in fuzzers)
    print(f"{differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
