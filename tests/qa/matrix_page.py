"""The page docs/use/spark-versions.md: which tests passed on which Spark line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS = _DOCS / "spark-lines.json"
SUITES = _DOCS / "spark-suites.json"
PAGE = _DOCS / "use" / "spark-versions.md"

# What a user calls it, and the packages and groups of tests that show it.
CAPABILITIES = {
    "Join strategies": ("rules.joins",),
    "Join order, conjuncts, shuffle writers, hints": (
        "rules.reorder",
        "rules.conjuncts",
        "rules.shuffles",
        "rules.hints",
        "rules.guard",
        "rules.subplans",
        "rules.aggregates",
    ),
    "Runtime filters: places": ("rules.runtimefilters.place", "rules.runtimefilters", "rules.runtimefilters.plain"),
    "Runtime filters: scans, connectors": (
        "rules.runtimefilters.resolve",
        "rules.runtimefilters.connectors",
        "rules.runtimefilters.merge",
    ),
    "Operators of runtime filters": ("physical", "keys"),
    "Statistics, costs": ("stats", "stats.estimate", "stats.operator", "stats.source", "cost"),
    "Activation, settings, reports": (
        "top",
        "conf",
        "catalyst",
        "reason",
        "record",
        "report",
        "report.page",
        "report.ui",
    ),
    "Python package": ("python",),
    "TPC-H, all answers": ("tpch",),
    "TPC-DS, all answers": ("tpcds",),
}

# What is run by hand on a line, and kept under `checks` in the results.
CHECKS = {
    "fuzz": "`qa.fuzz`: random queries, all equal",
    "tpcds_sf1": "TPC-DS, scale 1: equal answers, of 103",
    "tpcds_sf10": "TPC-DS, scale 10, 20 queries: times as fast",
}

# Why tests are skipped on a line, and so what it lacks.
LACKS = {
    "3.5": (
        "EXPLAIN has no section of Springbok.",
        "Springbok takes Spark's size estimate of a cached table until it is filled.",
        "Reports through Spark Connect are not tested: PySpark's package has no Connect server.",
    ),
    "3.5, 4.0 and 4.1": ("Spark hands runtime filters to connectors as lists of keys alone, not as ranges.",),
    "4.2": ("Iceberg has no release for it.",),
    "4.3": (
        "Delta and Iceberg have no releases for it.",
        "The tests with a connector of Spark's own do not run: its test classes are not published.",
    ),
}

_INTRODUCTION = (
    "Tests that passed, were skipped or failed on each Spark line (its Scala), by `make test-matrix WHOLE=--whole`."
)


def read() -> dict[str, Any]:
    """The results by line."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def write(results: dict[str, Any]) -> None:
    """Keep the results, and write the page."""
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(results))


def page(results: dict[str, Any]) -> str:
    """The page's text."""
    labels = sorted(results)
    names = headings(labels)
    tests = {t: [_cell(results[label]["tests"], groups) for label in labels] for t, groups in CAPABILITIES.items()}
    lacks = [f"- {line}: {' '.join(why)}" for line, why in LACKS.items()]
    return (
        "\n\n".join(
            [
                "# Spark versions",
                _INTRODUCTION,
                markdown(["tests", *names], tests | _checks(labels, results)),
                "## What a line lacks",
                "\n".join(lacks),
            ]
        )
        + "\n"
    )


def headings(labels: list[str]) -> list[str]:
    """The lines' labels for people: 3.5 (2.12)."""
    return [label.replace("_", " (") + ")" for label in labels]


def markdown(head: list[str], rows: dict[str, list[Any]]) -> str:
    """A table; each row begins with its title."""
    lines = [head, ["---"] * len(head), *([title, *map(str, cells)] for title, cells in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _checks(labels: list[str], results: dict[str, Any]) -> dict[str, list[Any]]:
    """What is run by hand, with Spark's own suites."""
    suites = json.loads(SUITES.read_text())
    rows = {title: [results[x].get("checks", {}).get(key, "-") for x in labels] for key, title in CHECKS.items()}
    rows["`make spark-suites`"] = [_suites(suites.get(x)) for x in labels]
    rows["The same in shadow mode"] = [_suites(suites.get(f"{x}-shadow")) for x in labels]
    return rows


def _suites(found: dict[str, dict[str, Any]] | None) -> str:
    """How many tests pass, and why the others fail."""
    if not found:
        return "-"
    every = found.values()
    text = f"{sum(s['passed_on'] for s in every):,} of {sum(s['tests'] for s in every):,}"
    for kind, title in (
        ("assert_a_strategy", "assert a strategy"),
        ("explained", "explained"),
        ("fail_without_too", "fail without Springbok too"),
        ("unexplained", "UNEXPLAINED"),
    ):
        if number := sum(len(s[kind]) for s in every):
            text += f", {number} {title}"
    return text


def _cell(tests: dict[str, dict[str, int]], groups: tuple[str, ...]) -> str:
    counts = [tests[g] for g in groups if g in tests]
    if not any(counts):
        return "-"
    parts = [f"{sum(c.get('passed', 0) for c in counts)}"]
    for kind in ("skipped", "failed"):
        if number := sum(c.get(kind, 0) for c in counts):
            parts.append(f"{number} {kind}")
    return ", ".join(parts)
