"""A real PostgreSQL: how many rows it sends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_postgres_sends_only_rows_that_can_join(tmp_path: Path) -> None:
    pytest.importorskip("pgserver", reason="it has no package for this Python")
    command = [sys.executable, "-m", "benchmarks", "jdbc", "--rows", "20000", "--runs", "1", "--memory", "1g"]
    run = subprocess.run([*command, "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    lines = [line.split("\t") for line in run.stdout.splitlines()]
    off, on = next(
        (int(row[1].replace(",", "")), int(row[2].replace(",", ""))) for row in lines if row[0].startswith("1 of")
    )
    # The dimension has 1,000 rows of its own, and a day 20 of the table's.
    assert off >= 20_000
    assert on <= 1_020
