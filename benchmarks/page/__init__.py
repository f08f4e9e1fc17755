"""The results page, benchmarks/results/README.md, and its charts: the template filled from the JSON files beside it.

A line `{{KIND NAME…}}` of the template stands for a part made from the files NAME.json, `{{gains}}` for the summary.
Files that the template does not name come at the end of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import results
from benchmarks.page import charts, figures, sections

_TEMPLATE = Path(__file__).with_name("template.md")
_PART = re.compile(r"^\{\{(\w+) ?([\w. -]*)\}\}$", re.MULTILINE)
_SECTIONS: dict[str, Callable[..., str]] = {
    "suite": sections.suite,
    "arms": sections.arms,
    "samples": sections.samples,
    "orders": sections.orders,
    "study": sections.study,
    "source": sections.source,
}
# The suite whose queries are drawn one by one.
_SCATTER = "tpcds-sf10-clustered-parquet"


def write(folder: Path) -> Path:
    """Write the page and its charts from the files in a folder."""
    _draw(folder)

    def part(found: re.Match[str]) -> str:
        kind, names = found.groups()
        if kind == "gains":
            return sections.gains(figures.gains(folder))
        files = [folder / f"{name}.json" for name in names.split()]
        read = [_read(path) for path in files if path.exists()]
        return _SECTIONS[kind](*read) if read else "Not measured."

    text = _TEMPLATE.read_text(encoding="utf-8")
    named = {name for _, names in _PART.findall(text) for name in names.split()}
    others = [p for p in sorted(folder.glob("*.json")) if p.stem not in named]
    page = folder / "README.md"
    page.write_text(_PART.sub(part, text) + "".join(_other(p) for p in others), encoding="utf-8")
    return page


def _read(path: Path) -> dict[str, Any]:
    return results.read(path) | {"file": path.name}


def _other(path: Path) -> str:
    content = _read(path)
    text = sections.suite(content) if "experiment" in content else sections.study(content)
    return f"\n## {content.get('title', path.stem)}\n\n{text}\n"


def _draw(folder: Path) -> None:
    found = figures.gains(folder)
    if found:
        charts.summary(found, folder / "summary.svg")
    path = folder / f"{_SCATTER}.json"
    if path.exists():
        pairs = figures.pairs(results.read(path)["queries"], "spark", "springbok")
        charts.scatter(pairs, ("Spark", "Springbok"), folder / f"{_SCATTER}.svg")
