"""The studies: benchmarks that are not a suite run in arms. Each has `arguments` for the command line, and `run`."""

from __future__ import annotations

import argparse
from typing import Protocol

from benchmarks.harness.results import Table
from benchmarks.studies import (
    build_tasks,
    computed_keys,
    duckdb_times,
    estimates,
    first_query,
    heaps,
    iterative,
    jdbc,
    join_choice,
    lake_merges,
    lake_writes,
    planning,
    planning_age,
    planning_files,
    planning_joins,
    posting,
    qualify,
    shadow,
    shuffle_writing,
    simulated_scale,
    young_jvm,
)


class Study(Protocol):
    """A module of this package. The first line of its docstring is its help."""

    __doc__: str | None

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the study's own arguments; all studies have --master, --memory, --data and --out."""

    def run(self, args: argparse.Namespace) -> Table:
        """Measure."""


STUDIES: dict[str, Study] = {
    "build-tasks": build_tasks,
    "computed-keys": computed_keys,
    "duckdb": duckdb_times,
    "estimates": estimates,
    "first-query": first_query,
    "heaps": heaps,
    "iterative": iterative,
    "jdbc": jdbc,
    "join-choice": join_choice,
    "lake-merges": lake_merges,
    "lake-writes": lake_writes,
    "planning": planning,
    "planning-age": planning_age,
    "planning-files": planning_files,
    "planning-joins": planning_joins,
    "posting": posting,
    "qualify": qualify,
    "shadow": shadow,
    "shuffle-writing": shuffle_writing,
    "simulated-scale": simulated_scale,
    "young-jvm": young_jvm,
}
