"""The results pages, README.md and scale.md of benchmarks/results, and charts, from templates and the JSON files there.

A line `{{KIND NAME…}}` of a template stands for a part made from the files NAME.json, `{{gains}}` for the summary.
Files that no template names come at the end of README.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import results
from benchmarks.page import charts, figures, scale, sections

_TEMPLATES = {page: Path(__file__).with_name(t) for page, t in (("README.md", "template.md"), ("scale.md", "scale.md"))}
_PART = re.compile(r"^\{\{(\w+) ?([\w. -]*)\}\}$", re.MULTILINE)
_SECTIONS: dict[str, Callable[..., str]] = {
    "suite": sections.suite,
    "arms": sections.arms,
    "samples": sections.samples,
    "orders": sections.orders,
    "study": sections.study,
    "source": sections.source,
    "violations": scale.violations,
    "planning": scale.planning,
    "changes": scale.changes,
}
# The suite whose queries are drawn one by one.
_SCATTER = "tpcds-sf10-clustered-parquet"


def write(folder: Path) -> Path:
    """Write the pages and their charts from the files in a folder."""
    _draw(folder)

    def part(found: re.Match[str]) -> str:
        kind, names = found.groups()
        if kind == "gains":
            return sections.gains(figures.gains(folder))
        files = [folder / f"{name}.json" for name in names.split()]
        read = [_read(path) for path in files if path.exists()]
        return _SECTIONS[kind](*read) if read else "Not measured."

    texts = {page: template.read_text(encoding="utf-8") for page, template in _TEMPLATES.items()}
    named = {name for text in texts.values() for _, names in _PART.findall(text) for name in names.split()}
    others = [p for p in sorted(folder.glob("*.json")) if p.stem not in named]
    for page, text in texts.items():
        more = "".join(_other(p) for p in others) if page == "README.md" else ""
        (folder / page).write_text(_PART.sub(part, text) + more, encoding="utf-8")
    return folder / "README.md"


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
