"""Links between Markdown files lead to files and headings that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from qa import matrix_page

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "examples/README.md",
    *(ROOT / "benchmarks" / "results").rglob("*.md"),
]


def _text(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", _text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", _text(page))
    for target in (a or b for a, b in links):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in _anchors(linked), f"{page.name}: {target}"


def test_the_readme_is_short_and_names_the_test_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 780  # a first report that runs as it stands, and trademarks
    assert re.search(r"^make test$", text, re.MULTILINE)


def test_the_page_of_spark_versions_counts_every_scala_test() -> None:
    root = ROOT / "jvm" / "src" / "test" / "scala" / "org" / "apache" / "spark" / "sql" / "springbok"
    packages = {".".join(p.parent.relative_to(root).parts) or "top" for p in root.rglob("*Suite.scala")}
    counted = {group for groups in matrix_page.CAPABILITIES.values() for group in groups}
    assert packages <= counted, packages - counted
