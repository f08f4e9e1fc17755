"""Plans and reports as text without what differs from run to run: ids, paths, sizes and times."""

from __future__ import annotations

import re
from typing import Any

# Ids that Spark counts up over the life of a session, by the text before the number. Each kind is numbered anew.
IDS = re.compile(r"(#|\bplan_id=|\*\(|\b\w*QueryStage |\b_gen_alias_|\b_extract_|\b_common_expr_|\b_w)(\d+)")
_FOLDER = re.compile(r"\bfile:/[^\s,\])]+/")
_FREE = (
    (re.compile(r"Location: (\w+) ?\(\d+ paths?\)\[[^\]]*\]"), r"Location: \1"),
    (_FOLDER, ""),
    (re.compile(r"@[0-9a-f]{5,8}\b"), "@"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
)
# Keys of the report that hold times, sizes after compression, versions or numbers that Spark counts up.
_FREE_KEYS = {
    "driver_heap_bytes",
    "duration_ms",
    "execution",
    "query",
    "spark",
    "springbok",
    "version",
    "waited_ms",
    "written_bytes",
}

# The JVM's words for what the rest of the report says.
_WORDS = re.compile(r"texts\b|joins\[\d+\]\.condition$|alternatives\[\d+\]\.text$|filters\[\d+\]\.(name|effect)$")


def plan(text: str) -> str:
    """A plan as Spark prints it, with ids numbered in the order in which they appear."""
    for pattern, free in _FREE:
        text = pattern.sub(free, text)
    return "\n".join(line.rstrip() for line in numbered(text).splitlines() if line.strip())


def numbered(text: str) -> str:
    """The text with the ids of each kind numbered from 1 in the order in which they appear."""
    seen: dict[str, dict[str, int]] = {}

    def number(m: re.Match[str]) -> str:
        known = seen.setdefault(m[1], {})
        return f"{m[1]}{known.setdefault(m[2], len(known) + 1)}"

    return IDS.sub(number, text)


def report(document: dict[str, Any]) -> str:
    """A report with one `path = value` a line, sorted by path."""
    leaves = [(path, value) for path, value in _leaves(document, "") if not _WORDS.search(path)]
    return "\n".join(sorted(f"{path} = {value}" for path, value in leaves))


def _leaves(value: Any, path: str) -> list[tuple[str, str]]:
    if isinstance(value, dict) and value:
        named = {k: v for k, v in value.items() if k not in _FREE_KEYS}
        return [leaf for k, v in named.items() for leaf in _leaves(v, f"{path}.{k}" if path else k)]
    if isinstance(value, list) and value:
        return [leaf for i, v in enumerate(value) for leaf in _leaves(v, f"{path}[{i:03}]")]
    # The last digits of a product depend on the order of its factors, which hash sets give.
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return [(path, _FOLDER.sub("", re.sub(r"#\d+L?", "#", text.replace("\n", "\\n"))))]
