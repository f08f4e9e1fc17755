"""The JSON files of results: what is in their heads, and how they are written."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark
from springbok import __version__


@dataclass(frozen=True)
class Table:
    """The result of a study: a table for the page, and further figures that only the JSON file has."""

    name: str
    title: str
    rows: list[list[Any]]
    """The first row holds the names of the columns."""
    details: dict[str, Any] = field(default_factory=dict)
    memory: str | None = None
    """The heaps of the driver, if the study chooses them."""


def ratios(base: Sequence[float], arm: Sequence[float]) -> list[str]:
    """The median, and the lowest and highest, of how many times faster each run was than the base's run beside it."""
    found = sorted(b / a for b, a in zip(base, arm, strict=True))
    return [f"{statistics.median(found):.2f}x", f"{found[0]:.2f} to {found[-1]:.2f}"]


def machine(master: str, memory: str) -> dict[str, Any]:
    """Where figures come from."""
    return {
        "machine": {
            "cores": os.cpu_count(),
            "architecture": platform.machine(),
            "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
            "driver_memory": memory,
            "master": master,
        },
        "versions": {"spark": pyspark.__version__, "springbok": __version__, "python": platform.python_version()},
    }


def name_of(suite: str, scale: float, layout: str) -> str:
    """The name of the results of a suite."""
    return f"{suite}-sf{scale:g}-{layout}"


def save(path: Path, results: dict[str, Any], keep: bool) -> None:
    """Write the results of a suite; `keep` keeps the queries that were not run again."""
    if keep and path.exists():
        results = results | {"queries": merged(read(path)["queries"], results["queries"])}
    write(path, results)


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of all queries: those that were run again in their old places, then those that are new."""
    left = {r["query"]: r for r in new}
    return [left.pop(r["query"], r) for r in old] + list(left.values())


def save_table(table: Table, args: argparse.Namespace) -> None:
    """Write the result of a study that ran with these arguments."""
    where = machine(args.master, table.memory or args.memory)
    document = {"title": table.title, "command": args.line, **where, "table": table.rows, **table.details}
    write(args.out / f"{table.name}.json", document)


def read(path: Path) -> dict[str, Any]:
    """The content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def write(path: Path, document: dict[str, Any]) -> None:
    """Write a JSON file with one value a line, so that a commit shows what changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
