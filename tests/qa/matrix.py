"""`make test-matrix`: the tests on every Spark line, each with a PySpark and an environment of its own.

One Scala test of each rule and operator, the Python tests, and all queries of TPC-H and TPC-DS. Writes what passed to
docs/spark-lines.json, and the page docs/use/spark-versions.md from it. With `--smoke` only the Scala tests run, and
nothing is written: that is what CI runs. With `--whole` all Scala tests run but the slow ones.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import requires
from pathlib import Path
from xml.etree import ElementTree

import jar
import lines
import sbt

from qa import matrix_page

# What a line's PySpark needs instead of the version that the other lines use, by the package's name.
PINS = {"3.5": {"pyarrow": "pyarrow<21"}}
CACHE = sbt.ROOT / ".cache" / "lines"
_PACKAGE = "org.apache.spark.sql.springbok."


def scala(line: lines.Line, whole: bool) -> dict[str, Counter[str]]:
    """The Scala tests on a line, one of each rule and operator or all: passed, skipped and failed, by package."""
    which = "" if whole else f"-n {_PACKAGE}Smoke"
    found: dict[str, Counter[str]] = {}
    for suite in suites(line, "scala", f"-- {which}", () if whole else ("-Dsuites=smoke",)):
        package = suite.get("name", "").removeprefix(_PACKAGE).rpartition(".")[0] or "top"
        found[package] = found.get(package, Counter()) + _counted(suite)
    return found


def suites(line: lines.Line, folder: str, which: str, options: Sequence[str] = ()) -> Iterator[ElementTree.Element]:
    """The reports of the suites that `testOnly` runs on a line; they are kept in a folder of the line's."""
    # ScalaTest's own reports: those of sbt take skipped tests for passed ones.
    reports = CACHE / line.label / folder
    shutil.rmtree(reports, ignore_errors=True)
    jar.run(line, [*options, "package", f"testOnly {which} -u {reports}"])
    for xml in sorted(reports.glob("*.xml")):
        yield from ElementTree.parse(xml).getroot().iter("testsuite")


def python(line: lines.Line) -> dict[str, Counter[str]]:
    """The Python tests on a line's PySpark, all but the slow ones; all of TPC-DS."""
    env = _environment(line)
    found = {}
    for name, options in {
        "python": ["tests", "-m", "not slow"],
        "tpch": ["tests/spark/test_tpch.py"],
        "tpcds": ["tests/spark/test_tpcds.py"],
    }.items():
        xml = CACHE / line.label / f"{name}.xml"
        command = [str(env), "-m", "pytest", *options, f"--junitxml={xml}"]
        subprocess.run(command, cwd=sbt.ROOT, check=False)
        found[name] = _counted(ElementTree.parse(xml).getroot()) if xml.exists() else Counter(failed=1)
    return found


def _environment(line: lines.Line) -> Path:
    """The Python of an environment with the line's PySpark and what the tests need."""
    folder = CACHE / line.label / "env"
    exe = folder / "bin" / "python"
    if not exe.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        extras = [r.split(";") for r in requires("springbok") or [] if ";" in r and not r.startswith("pyspark")]
        named = [what.strip() for what, condition in extras if "demo" in condition or "dev" in condition]
        pins = PINS.get(line.name, {})
        needed = [pins.get(n.partition("==")[0], n) for n in named]
        install = [str(exe), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*install, f"pyspark[connect]=={line.name}.*", *needed], check=True)
        # The package itself, as it stands in the repository.
        own = os.environ | {"SPRINGBOK_LINES": line.label}
        subprocess.run([*install, "--no-deps", "-e", str(sbt.ROOT)], check=True, env=own)
    return exe


def _counted(root: ElementTree.Element) -> Counter[str]:
    return Counter(outcome(case) for case in root.iter("testcase"))


def outcome(case: ElementTree.Element) -> str:
    """Of a test in a report of JUnit's form: passed, skipped or failed."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def main() -> int:
    """Runs the lines named, all by default; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="qa.matrix", description=__doc__)
    parser.add_argument("lines", nargs="*", default=["all"], help="such as 4.1 or 3.5_2.12")
    parser.add_argument("--smoke", action="store_true", help="no Python tests")
    parser.add_argument("--whole", action="store_true", help="all Scala tests but the slow ones")
    args = parser.parse_args()
    results = matrix_page.read()
    failed = []
    for line in lines.chosen(args.lines):
        found = scala(line, args.whole)
        # PySpark 3.5 is made for Scala 2.12.
        if not args.smoke and line.label != "3.5_2.13":
            found |= python(line)
        total = sum(found.values(), Counter())
        print(f"Spark {line.label}: {json.dumps(total)}", flush=True)
        if total["failed"] or not total["passed"]:
            failed.append(line.label)
        if not args.smoke:
            tests = {"spark": line.spark, "tests": {k: dict(v) for k, v in found.items()}}
            results[line.label] = results.get(line.label, {}) | tests
            matrix_page.write(results)
    print(f"Failed: {', '.join(failed)}." if failed else "All lines passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
