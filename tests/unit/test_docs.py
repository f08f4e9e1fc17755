"""Links between Markdown files lead to files and headings that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import site_hook as site
from qa import matrix_page
from ruamel.yaml import YAML

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


def test_the_site_has_every_page() -> None:
    nav = YAML().load(ROOT / "mkdocs.yml")["nav"]  # not the safe loader: mkdocs names functions in it

    def paths(entry: Any) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        return [path for part in (entry if isinstance(entry, list) else entry.values()) for path in paths(part)]

    named = paths(nav)
    pages = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    assert sorted(n for n in named if not n.startswith("https:")) == sorted(pages)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("use/is-it-for-me", ["dynamic filtering", "dynamic file pruning", "broadcast", "skew"]),
        ("understand/how-it-differs", ["dynamic partition pruning", "dynamic file pruning", "AQE", "CBO", "skew"]),
        ("understand/how-a-runtime-filter-works", ["dynamic filtering", "dynamic file pruning"]),
        ("understand/how-a-strategy-is-chosen", ["broadcast"]),
        ("use/troubleshooting", ["skew"]),
    ],
)
def test_a_search_finds_a_page(page: str, words: list[str]) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").lower()
    assert [w for w in words if w.lower() not in text] == []


@pytest.mark.parametrize(
    ("folder", "target", "there"),
    [
        ("docs/use", "install.md", "install.md"),
        ("docs/use", "../report-dark.png", "../report-dark.png"),
        ("docs/use", "../../SECURITY.md", "https://github.com/a/b/blob/main/SECURITY.md"),
        ("docs", "tour.ipynb", "https://github.com/a/b/blob/main/docs/tour.ipynb"),
    ],
)
def test_links_that_leave_the_site_lead_to_the_repository(folder: str, target: str, there: str) -> None:
    assert site.linked(folder, target, "https://github.com/a/b") == there


def test_the_site_can_be_built(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="make site installs it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "springbok.doctor" in (tmp_path / "api.html").read_text(encoding="utf-8")


def test_the_readme_is_short_and_names_the_test_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 780  # a first report that runs as it stands, and trademarks
    assert re.search(r"^make test$", text, re.MULTILINE)


def test_the_page_of_spark_versions_counts_every_scala_test() -> None:
    root = ROOT / "jvm" / "src" / "test" / "scala" / "org" / "apache" / "spark" / "sql" / "springbok"
    packages = {".".join(p.parent.relative_to(root).parts) or "top" for p in root.rglob("*Suite.scala")}
    counted = {group for groups in matrix_page.CAPABILITIES.values() for group in groups}
    assert packages <= counted, packages - counted
