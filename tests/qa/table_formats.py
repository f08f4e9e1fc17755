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
        "files that cannot join are not opened": "Delta.*: (files of|keys that|a table that OPTIMIZE|generated)",
        "renamed columns": "Delta.*: columns of other names",
        "deletion vectors": "Delta.*: deleted rows",
        "time travel and change data feed": "Delta.*: an older version",
        "row counts from the log": "Delta.*: rows are counted",
        "MERGE, UPDATE, DELETE, INSERT OVERWRITE": "Delta.*: (what is written|a concurrent)",
    },
    "Iceberg": {
        "files that cannot join are not opened": "Iceberg.*: (files of|keys that|partitions by|conditions)",
        "row groups are skipped": "Iceberg.*: row groups",
        "nulls, NaN, nested fields": "Iceberg.*: (nulls|NaN|floating)",
        "delete files, also by equality": "Iceberg.*: rows of equality",
        "snapshots, branches, tags": "Iceberg.*: (an older snapshot|a concurrent)",
        "changed schemas, metadata": "Iceberg.*: (columns that were|metadata|tables of metadata)",
        "row counts and distinct values": "Iceberg.*: (rows are counted|distinct values)",
        "colocated joins": "IcebergStatistics.*: (tables with the same|semi|partitions of|each|other)",
        "MERGE, UPDATE, DELETE": "Iceberg.*: DELETE",
    },
    "Hudi": {
        "rows that cannot join are removed at the scan": "Hudi.*: rows without",
        "updates and deletes in logs": "Hudi.*: keys that an update",
        "MERGE, UPDATE, DELETE": "Hudi.*: what is written",
    },
    "Hive": {
        "rows that cannot join are removed at the scan": "Hive.*: (rows without|keys of|outer|a Hive|other)",
        "files and row groups, where Spark reads them": "Hive.*: Parquet and ORC",
        "Spark's partition pruning stays": "Hive.*: Spark's dynamic",
        "INSERT and INSERT OVERWRITE": "Hive.*: what is written",
    },
    "JDBC": {
        "rows that cannot join are not sent": "Jdbc.*: (the database|more keys|a key of|the query's)",
        "tables of a catalog": "Jdbc.*: (a table of a catalog|what a database)",
        "other keys, row by row": "Jdbc.*: other types",
    },
    "Delta and Iceberg together": {
        "extensions in each order": "Neighbours.*: (?!CTAS|streams|cached|temporary|a user)",
        "CTAS, INSERT OVERWRITE, MERGE": "Neighbours.*: CTAS",
        "streams, cached tables, views": "Neighbours.*: (streams|cached|temporary)",
        "a user's own rules": "Neighbours.*: a user",
    },
    "Any connector": {
        "its own runtime filtering": "Connector.*: ",
        "scans that are built again": "RebuiltScan.*: ",
    },
}

_INTRODUCTION = """\
`python -m qa.table_formats` ([how to run it](../contribute/testing.md#differential-fuzzing)) writes this page: how many
tests of each capability passed on each Spark line. A
dash means that the format has no release for the line, or that its tests do not run there.
Delta, Iceberg and Hudi have no release for Spark 4.3. [Limits](limits.md#table-formats) says what is missing, and
[Connectors](../contribute/connectors.md) how a scan is told of a filter."""


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
    parts = ["# Table formats", _INTRODUCTION, "## Versions of the tests", _versions()]
    for form, capabilities in CAPABILITIES.items():
        rows = {name: [_cell(results[x], tests) for x in labels] for name, tests in capabilities.items()}
        parts += [f"## {form}", markdown(head, rows)]
    return "\n\n".join(parts) + "\n"


def _versions() -> str:
    every = sorted(lines.every(), key=lambda line: line.label)
    known = sorted({name for line in every for name in line.formats})
    rows = {name.title(): [line.formats.get(name, "-") for line in every] for name in known}
    return markdown(["", *headings([line.label for line in every])], rows)


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
