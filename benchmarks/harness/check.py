"""Compares a run with the last committed one: which queries lost more than their noise."""

from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from springbok.errors import SpringbokError

# The least noise assumed: few runs cannot show how much a time varies.
MIN_NOISE = 0.1
# Smaller differences are ignored, whatever their ratio.
MIN_SECONDS = 0.1


@dataclass(frozen=True)
class Loss:
    """A query whose speed against the first arm fell from `before` to `after`; noise alone may change it by `noise`."""

    query: str
    arm: str
    before: float
    after: float
    noise: float

    def __str__(self) -> str:
        return f"{self.query} {self.arm}: {self.before:.2f}x before, {self.after:.2f}x now, noise {self.noise:.0%}"


def spread(runs: list[float]) -> float:
    """Half of the difference between the slowest and the fastest run, relative to the median."""
    return (max(runs) - min(runs)) / 2 / statistics.median(runs)


def losses(old: dict[str, Any], new: dict[str, Any]) -> list[Loss]:
    """Queries of both results that lost; speeds are relative to the first arm of a run, so the machines may differ."""
    before = {q["query"]: q["arms"] for q in old["queries"]}
    found = []
    for q in new["queries"]:
        was, now = before.get(q["query"], {}), q["arms"]
        base = next(iter(now))
        for arm in list(now)[1:]:
            four = [arms.get(a, {}) for arms in (was, now) for a in (base, arm)]
            if any("runs" not in f for f in four):
                continue
            speeds = [four[0]["seconds"] / four[1]["seconds"], four[2]["seconds"] / four[3]["seconds"]]
            noise = max(MIN_NOISE, sum(spread(f["runs"]) for f in four))
            lost_seconds = four[3]["seconds"] - four[2]["seconds"] / speeds[0]
            if speeds[1] < speeds[0] * (1 - noise) and lost_seconds > MIN_SECONDS:
                found.append(Loss(q["query"], arm, speeds[0], speeds[1], noise))
    return found


def committed(path: Path) -> dict[str, Any]:
    """The results in the last commit.

    Raises:
        SpringbokError: the last commit has no such file.
    """
    done = subprocess.run(
        ["git", "show", f"HEAD:./{path.name}"], cwd=path.parent, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SpringbokError(f"No committed {path.name} to compare with: commit a run of `make bench` first.")
    return json.loads(done.stdout)  # type: ignore[no-any-return]
