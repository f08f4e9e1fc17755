"""HTML that is escaped, self-contained and without scripts. The JVM makes the pages of reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from springbok.errors import SpringbokError

_PART = """.springbok table{border-collapse:collapse}
.springbok td,.springbok th{border-bottom:1px solid #8884;padding:.3em .7em;text-align:left;vertical-align:top;
 white-space:pre-line;overflow-wrap:anywhere}
.springbok .numbers :is(td,th):not(:last-child){text-align:right}"""
_PAGE = """:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em}"""


def section(
    title: str, sentences: Iterable[str], head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False
) -> str:
    """A title, sentences and a table, if there are rows. With `numbers`, all columns but the last one are numbers."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"

    said = f"<h3>{escape(title)}</h3>" + "".join(f"<p>{escape(s)}</p>" for s in sentences)
    body, kind = "".join(line("td", row) for row in rows), ' class="numbers"' if numbers else ""
    table = f"<table{kind}><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"
    return said + (table if body else "")


def part(body: str) -> str:
    """What a notebook shows."""
    return f'<div class="springbok"><style>{_PART}</style>{body}</div>'


def page(title: str, body: str) -> str:
    """A page of its own."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en">{head}<style>{_PAGE}</style><h1>{escape(title)}</h1>{part(body)}\n'


def write(path: Path, text: str) -> Path:
    """Write a file and return its path.

    Raises:
        SpringbokError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as e:
        raise SpringbokError(f"{path} cannot be written: {e.strerror}.") from e
    return path
