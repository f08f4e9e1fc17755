"""A cluster of two executors: what breaks in it never changes an answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
import sbt

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
TESTS = HERE.parent
SCENARIOS = [
    "executor killed while building",
    "executor killed while probing",
    "executor killed while building a broadcast",
    "executors killed while building and while probing",
    "task fails while building",
    "task fails while probing",
    "shuffle files deleted between building and probing",
    "speculative copy of a building task",
    "speculative copy of a probing task",
    "query cancelled",
    # Executors once asked by a message that the driver's RPC environment does not know: it closed the connection, and
    # they exited.
    "a late filter, and an executor killed while probing",
    "eight queries at once, two sessions",
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("faults")
    bin_folder = Path(sbt.java()).resolve().parent
    jars = Path(pyspark.__file__).parent / "jars"
    source = shutil.copy(HERE / "Fault.java", folder)
    subprocess.run([bin_folder / "javac", "-cp", f"{jars}/*", "-d", folder / "classes", source], check=True)
    subprocess.run([bin_folder / "jar", "cf", folder / "fault.jar", "-C", folder / "classes", "."], check=True)
    env = os.environ | {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYTHONPATH": str(TESTS)}
    # The workers' directories are made where Spark runs.
    done = subprocess.run(
        [sys.executable, "-m", "cluster.scenarios", folder, folder / "fault.jar"],
        capture_output=True, text=True, cwd=folder, env=env, check=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stderr[-3000:]
    return {line["name"]: line for line in lines}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_answer_is_right(outcomes: dict[str, dict[str, Any]], name: str) -> None:
    outcome = outcomes[name]
    assert outcome["right"], outcome
    assert outcome["met"], "the fault did not happen"
    assert "used" in outcome["filters"] or "broadcast" in name, outcome
