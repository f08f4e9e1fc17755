"""`python -m qa.sqlfiles INPUTS`: every query of Spark's own SQL files, with Springbok and without it.

INPUTS is the folder `sql-tests/inputs` of Spark's test resources. SQLQueryTestSuite compares ties under an ORDER BY as
well and stops a file at its first difference; here each query's rows are compared in no order, and the runs with
Springbok take random settings and, mostly, random plans.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from qa.fuzz import engine
from qa.fuzz.engine import OFF, Failed, Settings, TooLong

# A file is taken if a query in it may have a join.
JOINS = re.compile(r"(?i)\bjoin\b|\bexists\b|\bin\s*\(\s*(select|with)|\bexcept\b|\bintersect\b|\bminus\b")
# Which rows a limit or a sample takes is for the plan to say.
ANY_ROWS = re.compile(
    r"(?i)\blimit\b|\boffset\b|\btablesample\b|\brand|\bany_value\b|\bfirst(_value)?\(|\blast(_value)?\("
)
QUERY = re.compile(r"(?i)[(\s]*(select|with|values|from|table)\b")
# The tables of Spark's files from PostgreSQL.
UNIQUE = (
    "unique1 INT, unique2 INT, two INT, four INT, ten INT, twenty INT, hundred INT, thousand INT, twothousand INT,"
    " fivethous INT, tenthous INT, odd INT, even INT, stringu1 STRING, stringu2 STRING, string4 STRING"
)
DATA = {
    "onek.data": ("onek", UNIQUE),
    "tenk.data": ("tenk1", UNIQUE),
    "agg.data": ("aggtest", "a INT, b FLOAT"),
}


def statements(path: Path) -> list[str]:
    """The statements of a file as Spark's suite splits it; not those of scripts, which have delimiters of their own."""
    text = path.read_text()
    if "--QUERY-DELIMITER" in text:
        return []
    lines = [line for line in text.splitlines() if not line.strip().startswith("--")]
    return [s.strip() for s in re.split(r"(?<=[^\\]);", "\n".join(lines)) if s.strip()]


def settings(path: Path) -> Settings:
    """The settings that a file asks for."""
    return dict(p.split("=", 1) for s in re.findall(r"(?m)^--SET (.*)$", path.read_text()) for p in s.split(","))


def tables(spark: SparkSession, folder: Path) -> None:
    """PostgreSQL's tables, in the default database."""
    for file, (name, schema) in DATA.items():
        rows = spark.read.schema(schema).option("sep", "\t").csv(str(folder / file))
        rows.coalesce(1).write.format("parquet").saveAsTable(f"default.{name}")


def answer(spark: SparkSession, sql: str, s: Settings) -> Counter[object] | str:
    """The rows, or the class of the error."""
    try:
        return engine.rows(spark, sql, s, 60)
    except (Failed, TooLong) as e:
        found = re.match(r"\[(\w+)", str(e))
        return type(e).__name__ if found is None else found.group(1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="qa.sqlfiles", description=__doc__)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("--only", default="", help="part of a file's name")
    parser.add_argument("--runs", type=int, default=2, help="runs of a query with Springbok")
    args = parser.parse_args()
    tally: Counter[str] = Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sqlfiles") as folder:
        spark = engine.session(Path(folder) / "warehouse")
        tables(spark, args.inputs.parent.parent / "test-data" / "postgresql")
        files = sorted(f for f in args.inputs.rglob("*.sql") if args.only in str(f.relative_to(args.inputs)))
        for path in files:
            if JOINS.search(path.read_text()):
                one(spark.newSession(), path, args.runs, tally)
                print(f"{path.relative_to(args.inputs)} {time.monotonic() - start:.0f} s {dict(tally)}", flush=True)
        spark.stop()
    return 1 if tally["differ"] else 0


def one(spark: SparkSession, path: Path, runs: int, tally: Counter[str]) -> None:
    """Runs a file in a session and a database of its own and counts its queries."""
    r = random.Random(path.name)
    for k, v in settings(path).items():
        spark.conf.set(k.strip(), v.strip())
    spark.sql("CREATE DATABASE files")
    spark.sql("USE files")
    for name, _ in DATA.values():
        spark.table(f"default.{name}").createOrReplaceTempView(name)
    tally["files"] += 1
    for sql in statements(path):
        if not QUERY.match(sql):
            # What tests an error of DDL fails here as there.
            answer(spark, sql, {})
            continue
        if ANY_ROWS.search(sql):
            tally["any rows"] += 1
            continue
        expected = answer(spark, sql, OFF)
        tally["queries"] += 1
        if isinstance(expected, str):
            tally["fail without"] += 1
            continue
        for s in (engine.random_settings(r) for _ in range(runs)):
            got = answer(spark, sql, s)
            tally["runs"] += 1
            if got == expected:
                continue
            if answer(spark, sql, OFF) != expected:
                tally["change without"] += 1
                break
            tally["differ"] += 1
            print(
                f"DIFFERENCE {path.name}\n  {sql}\n  settings {s}\n  {str(expected)[:600]}\n  {str(got)[:600]}",
                flush=True,
            )
    spark.sql("USE default")
    spark.sql("DROP DATABASE files CASCADE")


if __name__ == "__main__":
    sys.exit(main())
