"""Compares the size of the repository with budget.toml: part of `make lint`.

A number above its budget fails. Whoever raises a budget says in the comment of its line what that buys. With the arguments
`step NAME SECONDS` it compares the time of a step of CI instead; a slow machine is no fault, so that only warns.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINE = re.compile(r'^"?([\w .-]+?)"? = (\d+)', re.MULTILINE)


def budget() -> dict[str, int]:
    """The largest value of each number."""
    return {name: int(most) for name, most in _LINE.findall((ROOT / "budget.toml").read_text(encoding="utf-8"))}


def measured() -> dict[str, int]:
    """The numbers as they are."""
    sources = _lines(_files("jvm/src/main", "*.scala", "*.java"))
    python = _lines(_files("python/springbok", "*.py"))
    return {
        "jvm_lines": sum(sources),
        "jvm_files": len(sources),
        "longest_file": max(sources),
        "python_lines": sum(python),
        "settings": _rows("docs/configs.md", r"^\| `spark\."),
        "reasons": _rows("docs/reasons.md", r"^\| `[A-Z_]+` \|"),
        "docs_words": sum(len(_text(f).split()) for f in _files("docs", "*.md")),
        "results_words": len(_text(ROOT / "benchmarks/results/README.md").split()),
    }


def _files(folder: str, *patterns: str) -> list[Path]:
    return [f for pattern in patterns for f in (ROOT / folder).rglob(pattern)]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _lines(files: Iterable[Path]) -> list[int]:
    return [_text(f).count("\n") for f in files]


def _rows(page: str, row: str) -> int:
    return len(re.findall(row, _text(ROOT / page), re.MULTILINE))


def main(arguments: list[str]) -> int:
    """1 if a number is above its budget."""
    if arguments[:1] == ["step"]:
        name, seconds = arguments[1], int(arguments[2])
        most = budget().get(name)
        note = f", over its budget of {most} s" if most is not None and seconds > most else ""
        print(f"CI step {name!r}: {seconds} s{note}", flush=True)
        return 0
    most_of = budget()
    over = [f"{name} is {n}, above {most_of[name]}" for name, n in measured().items() if n > most_of[name]]
    if over:
        print("Over budget.toml: " + "; ".join(over) + ".", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
