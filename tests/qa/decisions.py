"""`python -m qa.decisions record FOLDER`, `compare A B`: every plan and decision of TPC-H, TPC-DS and SSB as text.

`record` plans and runs each query and writes one file a query: the plan and the strategy report before the query runs
and after it, and both as planned for a larger cluster. `--mode` chooses among four ways to run: `plain`; `auto`, where
only scans wait for which it pays; `partitioned`, with one folder a day; `hints`, with a hint for each relation.
`compare` prints what differs between two such folders. Behaviour that is meant to stay the same leaves no difference.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import springbok
from pyspark.errors import PySparkException
from springbok.session import temporarily

from benchmarks import suites
from benchmarks.harness import data
from qa import cases, stable_text, text_diff
from qa.stages import StagesFinishTogether

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUITES = ("tpch", "tpcds", "ssb")
CACHE = Path(__file__).resolve().parents[2] / ".cache"
# Nothing is decided by the machine, by the clock or by which stage finishes first.
SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.maxMetadataStringLength": "100000",
    "spark.sql.debug.maxToStringFields": "10000",
    "spark.sql.session.timeZone": "UTC",
    "spark.springbok.cluster.executors": "4",
    "spark.springbok.cluster.coresPerExecutor": "4",
    "spark.springbok.cluster.executorMemory": "768m",
    # Small enough for joins of every strategy at this scale.
    "spark.springbok.join.broadcastBytesLimit": "256k",
    "spark.springbok.runtimeFilter.wait": "ALWAYS",
    "spark.springbok.runtimeFilter.minBenefitMs": "100",
    # Less than a part of the driver's heap, which differs.
    "spark.springbok.runtimeFilter.maxMergeBytes": "16m",
    "spark.springbok.stats.footers.maxMs": "600000",
}
# How the query is planned a second time, without running it.
LARGER = {
    "spark.sql.shuffle.partitions": "200",
    "spark.springbok.cluster.executors": "20",
    "spark.springbok.cluster.coresPerExecutor": "8",
    "spark.springbok.join.broadcastBytesLimit": "256m",
    "spark.springbok.reorder.enabled": "true",
    "spark.springbok.runtimeFilter.wait": "AUTO",
    "spark.springbok.runtimeFilter.minBenefitMs": "1",
}
# Settings of the modes that have some of their own.
MODES: dict[str, dict[str, str]] = {
    "plain": {},
    "auto": {"spark.springbok.runtimeFilter.wait": "AUTO", "spark.springbok.runtimeFilter.minBenefitMs": "1"},
    "partitioned": {},
    "hints": {},
}
HINTS = (
    "RUNTIME_FILTER",
    "SHUFFLE",
    "MERGE",
    "NO_RUNTIME_FILTER_TARGET",
    "BROADCAST",
    "RUNTIME_FILTER_TARGET",
    "SHUFFLE_HASH",
)
# Spark orders some expressions by the hash of their ids: each query's ids start at a number of its own.
IDS_PER_QUERY = 100_000
IDS_PER_SUITE = 100_000_000
_DECIDED = re.compile(r"joins|filters|join_order|conjuncts|failures|note")
_DETAILS = re.compile(r"^\S*\.(args|terms|left|right|setting|impala_cost_bytes)\b")
_KEYWORD = re.compile(r"where|on|join|left|right|full|inner|cross|group|order|union|having|limit|and|or|when|is|then")


def session() -> SparkSession:
    """A session with Springbok for the whole recording."""
    from pyspark.sql import SparkSession

    spark = (
        springbok.configure(SparkSession.builder, planning_budget=0)
        .master("local[2]")
        .appName("springbok-decisions")
        .config("spark.driver.memory", "3g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def load(spark: SparkSession, folder: Path) -> SparkSession:
    """A session of its own that reads the tables of the folder."""
    own = spark.newSession()
    for path in sorted(folder.glob("*.parquet")):
        own.read.parquet(str(path)).createOrReplaceTempView(path.stem)
    return own


def hinted(spark: SparkSession, sql: str, tables: list[str], first: int) -> str:
    """The query with one hint for each of its relations, in turn, in each SELECT. Names of other scopes are ignored.

    Spark does not reorder joins that are hinted. Hints that would leave relations without a condition are left out.
    """
    known = "|".join(map(re.escape, sorted(tables)))
    # An alias hides the name. A word that is no alias, as WHERE, names nothing.
    found = re.findall(rf"\b({known})\b(?:\s+(?:as\s+)?([a-z]\w*))?", sql, flags=re.IGNORECASE)
    names = sorted({name.lower() for names in found for name in names if name})
    turns = itertools.islice(itertools.cycle(HINTS), first % len(HINTS), None)
    chosen, most = sql, _without_condition(spark, sql)
    hints: list[str] = []
    for name in names:
        if name not in tables and _KEYWORD.fullmatch(name):
            continue
        more = ", ".join([*hints, f"{next(turns)}({name})"])
        text = re.sub(r"\b(select)\b", rf"\1 /*+ {more} */", sql, flags=re.IGNORECASE)
        if _without_condition(spark, text) <= most:
            chosen, hints = text, more.split(", ")
    return chosen


def _without_condition(spark: SparkSession, sql: str) -> int:
    """The number of inner joins without a condition."""
    plan = spark.sql(sql)._jdf.queryExecution().optimizedPlan().toString()
    return len(re.findall(r"\bJoin (?:Inner|Cross)(?:$|, (?:left|right)Hint)", plan, flags=re.MULTILINE))


def decisions(spark: SparkSession, suite: str, name: str, sql: str, mode: str = "plain") -> str:
    """Every plan and decision of one query.

    Stages that run at the same time are seen to finish at the same time, so that adaptive execution decides the same in
    each run.
    """
    first_id = (SUITES.index(suite) + 1) * IDS_PER_SUITE + list(suites.queries(suite)).index(name) * IDS_PER_QUERY
    parts = _ran(spark, sql, first_id, MODES[mode])
    with temporarily(spark, SETTINGS | LARGER):
        _count_from(spark, first_id + IDS_PER_QUERY // 2)
        df = spark.sql(sql)
        parts["plan for a larger cluster"] = _plan(df)
        parts["report for a larger cluster"] = _report(df)
    return "".join(f"{text_diff.HEADING}{title}\n{text}\n" for title, text in parts.items())


def of_cases(spark: SparkSession, name: str) -> str:
    """What was decided about each of the small statements of this name, after it ran."""
    texts = []
    for i, (settings, sql) in enumerate(cases.CASES[name]):
        report = _ran(spark, sql, (i + 1) * IDS_PER_QUERY, settings)["report after it ran"]
        decided = [line for line in report.splitlines() if _DECIDED.match(line) and not _DETAILS.search(line)]
        texts.append("\n".join([f"{text_diff.HEADING}{sql}", *decided, ""]))
    return "".join(texts)


def _ran(spark: SparkSession, sql: str, first_id: int, settings: dict[str, str]) -> dict[str, str]:
    parts: dict[str, str] = {}
    with temporarily(spark, SETTINGS | settings):
        _count_from(spark, first_id)
        df = spark.sql(sql)
        parts["plan before it runs"] = _plan(df)
        parts["report before it runs"] = _report(df)
        try:
            with StagesFinishTogether(spark):
                df.collect()
        except PySparkException as error:
            parts["failure"] = str(error.getCondition())
        parts["plan after it ran"] = _plan(df)
        parts["report after it ran"] = _report(df)
    return parts


def _plan(df: Any) -> str:
    return stable_text.plan(df._jdf.queryExecution().executedPlan().toString())


def _report(df: Any) -> str:
    return stable_text.report(springbok.report(df).to_dict())


def _count_from(spark: SparkSession, number: int) -> None:
    """Makes Spark count its expression ids from the number. Py4J would turn the counter into an int: handles do not."""
    jvm: Any = spark._jvm
    lang, handles = jvm.java.lang, jvm.java.lang.invoke.MethodHandles
    loader = lang.Thread.currentThread().getContextClassLoader()
    counter = loader.loadClass("org.apache.spark.sql.catalyst.expressions.NamedExpression$").getDeclaredField("curId")
    counter.setAccessible(True)
    takes_long = jvm.java.lang.invoke.MethodType.methodType(lang.Void.TYPE, lang.Long.TYPE)
    setter = handles.lookup().findVirtual(counter.getType(), "set", takes_long)
    arguments = jvm.java.util.ArrayList()
    arguments.add(number)
    handles.collectArguments(setter, 0, handles.lookup().unreflectGetter(counter)).invokeWithArguments(arguments)


def record(target: Path, chosen: list[str], queries: str, scale: float, cache: Path, mode: str) -> None:
    """Write the decisions of the chosen queries, one file each."""
    spark = session()
    for suite in chosen:
        layout = "partitioned" if mode == "partitioned" else "plain"
        tables = data.folder(spark, cache, suite, scale, layout)
        own, names = load(spark, tables), [path.stem for path in tables.glob("*.parquet")]
        folder = target / suite
        folder.mkdir(parents=True, exist_ok=True)
        for i, (name, sql) in enumerate(suites.chosen(suite, queries).items()):
            start = time.monotonic()
            asked = hinted(own, sql, names, i) if mode == "hints" else sql
            text = decisions(own, suite, name, asked, mode)
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
            print(f"{mode} {suite} {name} {time.monotonic() - start:.1f} s", flush=True)
    spark.stop()


def main() -> int:
    """Run the command; 1 if `compare` finds a difference."""
    parser = argparse.ArgumentParser(prog="qa.decisions", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    to_record = commands.add_parser("record", help="plan and run the queries, and write what was decided")
    to_record.add_argument("folder", type=Path)
    to_record.add_argument("--suite", default=",".join(SUITES), help="suites, separated by commas")
    to_record.add_argument("--queries", default="all", help="as in q3,q14a or 1-15; of one suite")
    to_record.add_argument("--mode", choices=MODES, default="plain")
    to_record.add_argument("--scale", type=float, default=0.1)
    to_record.add_argument("--data", type=Path, default=CACHE, help="where the tables are made once")
    to_compare = commands.add_parser("compare", help="print what differs between two recordings")
    to_compare.add_argument("a", type=Path)
    to_compare.add_argument("b", type=Path)
    to_compare.add_argument("--renames", type=Path, help="file of what may differ: see text_diff.Renames")
    to_compare.add_argument("--unstable", type=Path, action="append", default=[], help="another recording like A")
    args = parser.parse_args()
    if args.command == "record":
        record(args.folder, args.suite.split(","), args.queries, args.scale, args.data, args.mode)
        return 0
    renames = text_diff.Renames.read(args.renames) if args.renames else text_diff.Renames()
    return text_diff.compare(args.a, args.b, renames, args.unstable)


if __name__ == "__main__":
    sys.exit(main())
