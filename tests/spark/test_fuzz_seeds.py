"""A few seeds of the fuzzer; `make fuzz SEEDS=…` runs more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def fuzz(*options: str) -> str:
    """What the fuzzer prints; it finds no difference."""
    path = os.pathsep.join(str(ROOT / folder) for folder in ("tests", "tools", "."))
    done = subprocess.run(
        [sys.executable, "-m", "qa.fuzz", *options],
        capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_random_queries_answer_the_same() -> None:
    told = fuzz("--seeds", "1-2", "--queries", "8", "--runs", "2")
    assert re.search(r"'on': \d\d", told), told


@pytest.mark.slow
def test_queries_answer_the_same_while_tables_change() -> None:
    told = fuzz("--seeds", "42-43", "--queries", "2", "--runs", "2", "--changing")
    assert "'changes': " in told, told
