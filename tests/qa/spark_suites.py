"""Run Spark's own test suites with Springbok loaded: `make spark-suites`.

From Spark's published test jars, one suite a JVM. Tests that fail with Springbok are run again without it, so that a
failure that Spark has alone is not taken for one of Springbok's, and with it but for its choice of join strategies:
many tests force a strategy by Spark's settings and assert that the plan has it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jar
import sbt
from lines import Line, chosen

ROOT = Path(__file__).resolve().parents[2]
POM = ROOT / "tests" / "qa" / "spark-suites" / "pom.xml"
CACHE = ROOT / ".cache" / "spark-suites"
RESULTS = ROOT / "docs" / "spark-suites.json"
# Why a test that asserts Spark's own plan rightly fails, by suite and test.
EXPLAINED = POM.parent / "explained.json"
EXTENSION = "org.apache.spark.sql.springbok.SpringbokExtensions"

_ON = [f"-Dspark.sql.extensions={EXTENSION}", "-Dspringbok.testing=true"]
ARMS = {
    "off": [],
    "on": _ON,
    "filters": [*_ON, "-Dspark.springbok.join.enabled=false"],
    "shadow": [*_ON, "-Dspark.springbok.shadow=true"],
}
SQL = "org.apache.spark.sql."
SUITES = [
    "JoinSuite",
    "execution.joins.OuterJoinSuite",
    "execution.joins.InnerJoinSuite",
    "execution.joins.ExistenceJoinSuite",
    "execution.joins.BroadcastJoinSuite",
    "execution.adaptive.AdaptiveQueryExecSuite",
    "SubquerySuite",
    "DynamicPartitionPruningV1SuiteAEOn",
    "DynamicPartitionPruningV1SuiteAEOff",
    "InjectRuntimeFilterSuite",
    "sources.BucketedReadWithoutHiveSupportSuite",
    "CTEInlineSuiteAEOn",
    "CTEInlineSuiteAEOff",
    "JoinHintSuite",
    "DataFrameJoinSuite",
    "CachedTableSuite",
    "TPCDSQuerySuite",
    # Of the suite of SQL files those about joins and subqueries, by a part of their names; each in a JVM of its own.
    *(f"SQLQueryTestSuite:{f}" for f in ("join", "subquery", "cte", "except", "intersect", "union")),
]
OPENS = [
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.security.action", "sun.util.calendar",
]  # fmt: skip


# Versions of test libraries of the lines whose Spark was compiled against others than the newest ones.
LIBRARIES = {"3.5": {"scalatest": "3.2.16", "scalacheck": "1-17", "mockito": "4-11"}}


def classpath(line: Line) -> str:
    """The line's Spark with its tests and their dependencies, fetched once by Maven."""
    found = CACHE / f"{line.label}.classpath"
    if not found.exists() or found.stat().st_mtime < POM.stat().st_mtime:
        found.parent.mkdir(parents=True, exist_ok=True)
        versions = {"spark": line.spark, "scala": line.scala, **LIBRARIES.get(line.name, {})}
        settings = [f"-D{k}={v}" for k, v in versions.items()]
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:build-classpath", f"-Dmdep.outputFile={found}"]
        subprocess.run([*command, *settings], check=True)
    return found.read_text().strip()


def home(line: Line) -> Path:
    """The source tree of Spark that the suites look into."""
    return CACHE / line.label


def tests_jar(jars: str) -> str:
    """Spark SQL's, of a class path."""
    return next(j for j in jars.split(":") if Path(j).name.startswith("spark-sql_") and j.endswith("-tests.jar"))


def resources(line: Line, jars: str) -> Path:
    """A source tree as far as the suites look into it: what the tests jar has beside classes."""
    folder = home(line) / "sql" / "core" / "src" / "test" / "resources"
    if not folder.exists():
        with zipfile.ZipFile(tests_jar(jars)) as z:
            z.extractall(folder, [n for n in z.namelist() if not n.endswith(".class")])
    return folder


def run(line: Line, suite: str, arm: str, springbok: Path, heap: str, only: list[str]) -> dict[str, str]:
    """The tests of a suite in an arm: name to `passed`, `ignored` or the first line of the failure."""
    jars = classpath(line)
    # Before the jars: some suites read their data as files.
    jars = f"{resources(line, jars)}:{jars}"
    name, _, part = suite.partition(":")
    tests = [option for t in only for option in ("-t", t)] or (["-z", part] if part else [])
    settings = ARMS[arm]
    with tempfile.TemporaryDirectory(prefix="suite") as folder:
        command = [
            sbt.java(), f"-Xmx{heap}", "-Xss8m", "-XX:+UseSerialGC",
            *[f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in OPENS],
            "-Dspark.testing=1", "-Dspark.ui.enabled=false", f"-Dspark.test.home={home(line)}",
            "-Dio.netty.tryReflectionSetAccessible=true", f"-Djava.io.tmpdir={folder}", *settings,
            "-cp", f"{springbok}:{jars}", "org.scalatest.tools.Runner",
            "-R", tests_jar(jars),
            "-s", SQL + name, "-u", f"{folder}/xml", *tests,
        ]  # fmt: skip
        # The last two are for executors of a `local-cluster`, which look for Spark's build otherwise.
        env = {
            "SPARK_HOME": str(home(line)), "SPARK_TESTING": "1",
            "SPARK_SCALA_VERSION": line.scala, "SPARK_DIST_CLASSPATH": f"{springbok}:{jars}",
        }  # fmt: skip
        log = CACHE / f"{line.label}-{suite.replace(':', '-')}-{arm}.log"
        with log.open("w") as out:
            subprocess.run(command, stdout=out, stderr=out, cwd=folder, env=os.environ | env, check=False)
        found: dict[str, str] = {}
        for xml in Path(folder).glob("xml/*.xml"):
            for case in ElementTree.parse(xml).getroot().iter("testcase"):
                bad = case.find("failure")
                bad = case.find("error") if bad is None else bad
                if bad is not None:
                    kind = bad.get("type", "").rpartition(".")[2]
                    text = " ".join((bad.get("message") or "").split())
                    found[case.get("name", "")] = f"{kind}: {text}"[:200]
                else:
                    found[case.get("name", "")] = "ignored" if case.find("skipped") is not None else "passed"
        return found


def is_assertion(suite: str, failure: str) -> bool:
    """Whether a test fails by what it asserts of a plan, not by an answer or exception. SQL files compare answers."""
    if suite.startswith("SQLQueryTestSuite"):
        return False
    return failure.startswith("TestFailedException: ") and "Results do not match" not in failure


def judged(line: Line, suite: str, springbok: Path, heap: str, why: dict[str, str], arm: str) -> dict[str, Any]:
    """How a suite's tests end with Springbok, and why those that fail do."""
    on = run(line, suite, arm, springbok, heap, [])
    failed = sorted(t for t, r in on.items() if r not in ("passed", "ignored"))
    off = run(line, suite, "off", springbok, heap, failed) if failed else {}
    both = [t for t in failed if off.get(t) != "passed"]
    only_on = [t for t in failed if t not in both]
    unknown = [t for t in only_on if t not in why]
    without = run(line, suite, "filters", springbok, heap, unknown) if unknown and arm == "on" else {}
    strategy = {t: on[t] for t in unknown if without.get(t) == "passed" and is_assertion(suite, on[t])}
    return {
        "tests": sum(r != "ignored" for r in on.values()),
        "passed_on": sum(r == "passed" for r in on.values()),
        "fail_without_too": both,
        "assert_a_strategy": strategy,
        "explained": {t: why[t] for t in only_on if t in why},
        "unexplained": {t: on[t] for t in unknown if t not in strategy},
    }


def main() -> int:
    """Runs the suites named, all by default; 1 if a test fails only with Springbok and nothing explains it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", default=SUITES)
    parser.add_argument("--line", default="current", help="such as 4.1")
    parser.add_argument("--heap", default="2g")
    parser.add_argument("--shadow", action="store_true", help="in shadow mode, in which every test must end as without")
    args = parser.parse_args()
    line = chosen([args.line])[0]
    springbok = jar.build([line.label])[0]
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    arm, label = ("shadow", f"{line.label}-shadow") if args.shadow else ("on", line.label)
    explained: dict[str, dict[str, str]] = {} if args.shadow else json.loads(EXPLAINED.read_text())
    different = 0
    for suite in args.suites:
        start = time.monotonic()
        result = judged(line, suite, springbok, args.heap, explained.get(suite, {}), arm)
        results.setdefault(label, {})[suite] = result
        different += len(result["unexplained"])
        print(f"{suite}: {json.dumps(result, indent=1)} {time.monotonic() - start:.0f} s", flush=True)
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
