"""The parts of the page of simulated clusters."""

from __future__ import annotations

import statistics

from benchmarks.page.figures import Record
from benchmarks.page.sections import table

_SMALL = "1"


def violations(results: Record) -> str:
    """A line for each."""
    return "\n".join(f"- {v}" for v in results["violations"]) or "None."


def planning(results: Record) -> str:
    """A row for each scale: the files, and the planning time against that of the small scale."""
    times: dict[str, dict[str, float]] = results["planning"]
    head = [
        "scale",
        "files",
        "footers read",
        "median ms",
        "most ms",
        "ratio to scale 1",
        "largest ratio",
        "all queries",
    ]
    rows = []
    for scale, files in results["files"].items():
        ms = {q: t[scale] for q, t in times.items()}
        ratios = {q: ms[q] / t[_SMALL] for q, t in times.items()}
        most = max(ratios, key=lambda q: ratios[q])
        rows.append(
            [
                f"{int(scale):,}",
                f"{files['files']:,}",
                f"{files['footers']:,}",
                f"{statistics.median(ms.values()):.0f}",
                f"{max(ms.values()):.0f}",
                f"{statistics.median(ratios.values()):.2f}",
                f"{ratios[most]:.2f} ({most})",
                f"{sum(ms.values()) / sum(t[_SMALL] for t in times.values()):.2f}",
            ]
        )
    return table(head, *rows)


def changes(results: Record) -> str:
    """A table for each scale, the most frequent changes first."""
    parts = []
    for scale, found in results["changes"].items():
        rows = [[change, len(queries), ", ".join(queries)] for change, queries in found.items()]
        rows.sort(key=lambda row: -row[1])
        parts.append(f"### Scale {int(scale):,}\n\n{table(['change', 'queries', 'which'], *rows)}")
    return "\n\n".join(parts)
