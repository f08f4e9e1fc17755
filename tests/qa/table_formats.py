"""`python -m qa.table_formats`: the tests of table formats on every Spark line, and the page of what works on which.

Runs the Scala suites of connectors on the lines named. Writes what passed to docs/table-formats.json, and the page
docs/use/table-formats.md from it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter

import lines
import sbt

from qa.matrix import outcome, suites
from qa.matrix_page import headings, markdown

_DOCS = sbt.ROOT / "docs"
RESULTS = _DOCS / "table-formats.json"
PAGE = _DOCS / "use" / "table-formats.md"
_SUITES = "*.rules.runtimefilters.connectors.*"

# What a user calls it, and the tests that show it: the start of `<suite>: <test>`, as a regular expression.
CAPABILITIES = {
    "Delta": {
        "skipped files": "Delta.*: (files of|keys that|a table that OPTIMIZE|generated)",
        "renamed columns, deletion vectors": "Delta.*: (columns of other names|deleted rows)",
        "time travel, row counts": "Delta.*: (an older version|rows are counted)",
        "writes": "Delta.*: (what is written|a concurrent)",
    },
    "Iceberg": {
        "skipped files and row groups": "Iceberg.*: (files of|keys that|partitions by|conditions|row groups)",
        "nulls, NaN, nested fields": "Iceberg.*: (nulls|NaN|floating)",
        "delete files, also by equality": "Iceberg.*: rows of equality",
        "snapshots, schemas": "Iceberg.*: (an older snapshot|a concurrent|columns that were|(tables of )?metadata)",
        "row counts, distinct values": "Iceberg.*: (rows are counted|distinct values)",
        "colocated joins": "IcebergStatistics.*: (tables with the same|semi|partitions of|each|other)",
        "writes": "Iceberg.*: DELETE",
    },
    "Hudi": {
        "removed rows": "Hudi.*: rows without",
        "writes, also in logs": "Hudi.*: (keys that an update|what is written)",
    },
    "Hive": {
        "removed rows": "Hive.*: (rows without|keys of|outer|a Hive|other)",
        "skipped files and partitions": "Hive.*: (Parquet and ORC|Spark's dynamic)",
        "writes": "Hive.*: what is written",
    },
    "JDBC": {
        "rows not sent": "Jdbc.*: (the database|more keys|a key of|the query's)",
        "catalogs, other keys": "Jdbc.*: (a table of a catalog|what a database|other types)",
    },
    "Delta with Iceberg": {
        "extensions in each order": "Neighbours.*: (?!CTAS|streams|cached|temporary|a user)",
        "writes, streams, cached tables": "Neighbours.*: (CTAS|streams|cached|temporary)",
        "a user's own rules": "Neighbours.*: a user",
    },
    "Any connector": {
        "its own filtering": "Connector.*: ",
        "rebuilt scans": "RebuiltScan.*: ",
    },
}

_INTRODUCTION = """\
Tests that passed on each Spark line, by [`python -m qa.table_formats`](../contribute/testing.md#differential-fuzzing).
A dash means that the format has no release for the line, or that its tests do not run there. Delta, Iceberg and Hudi
have no release for Spark 4.3. [Limits](limits.md#table-formats), [connectors](../contribute/connectors.md)"""


def measured(line: lines.Line) -> dict[str, str]:
    """The outcome of each test on a line, by `<suite>: <test>`."""
    found: dict[str, str] = {}
    for suite in suites(line, "formats", f"{_SUITES} --"):
        name = suite.get("name", "").rpartition(".")[2]
        found |= {f"{name}: {case.get('name')}": outcome(case) for case in suite.iter("testcase")}
    return found


def page(results: dict[str, dict[str, str]]) -> str:
    """The page's text."""
    labels = sorted(label for label, tests in results.items() if tests)
    head = ["", *headings(labels)]
    rows = _versions(labels) | {
        f"{form}: {name}": [_cell(results[x], tests) for x in labels]
        for form, capabilities in CAPABILITIES.items()
        for name, tests in capabilities.items()
    }
    return "\n\n".join(["# Table formats", _INTRODUCTION, markdown(head, rows)]) + "\n"


def _versions(labels: list[str]) -> dict[str, list[str]]:
    every = {line.label: line.formats for line in lines.every()}
    known = sorted({name for formats in every.values() for name in formats})
    return {f"{name.title()}: version": [every[label].get(name, "-") for label in labels] for name in known}


def _cell(tests: dict[str, str], pattern: str) -> str:
    """`5`, or `4, 1 skipped`."""
    kinds = Counter(outcome for name, outcome in tests.items() if re.match(pattern, name))
    others = [f"{kinds[k]} {k}" for k in ("skipped", "failed") if kinds[k]]
    return ", ".join([str(kinds["passed"]), *others]) if kinds else "-"


def main() -> int:
    """Runs the lines named, all by default; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="qa.table_formats", description=__doc__)
    parser.add_argument("lines", nargs="*", default=["all"], help="such as 4.1 or 3.5_2.12")
    args = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for line in lines.chosen(args.lines):
        results[line.label] = measured(line)
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page(results))
    bad = [f"{x} {test}" for x, tests in results.items() for test, kind in tests.items() if kind == "failed"]
    print("\n".join(f"Failed: {b}" for b in bad) or "All tests passed.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
