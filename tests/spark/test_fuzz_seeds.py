"""A few seeds of the fuzzer; `make fuzz SEEDS=…` runs more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_random_queries_answer_the_same() -> None:
    path = os.pathsep.join(str(ROOT / folder) for folder in ("tests", "tools", "."))
    done = subprocess.run(
        [sys.executable, "-m", "qa.fuzz", "--seeds", "1-2", "--queries", "8", "--runs", "2"],
        capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"'on': \d\d", done.stdout), done.stdout
