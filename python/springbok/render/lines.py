"""Lines of at most 100 columns: wrapped, in sections, and as tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

WIDTH = 100


def wrap(text: str, indent: int) -> list[str]:
    """The text at this indent; further lines are indented by two more."""
    pad = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=pad, subsequent_indent=pad + "  ") or [pad]


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines under a title, after an empty line; nothing if there are no lines."""
    content = list(lines)
    if content:
        yield from ("", title, *content)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """One line for each row. Empty columns are left out, and the widest columns are cut until a line fits."""
    columns = [c for c in zip(head, *rows, strict=True) if any(c[1:])]
    widths = [max(map(len, c)) for c in columns]
    while sum(widths) + 2 * len(widths) > WIDTH:
        widths[widths.index(max(widths))] -= 1
    for cells in zip(*columns, strict=True):
        yield "".join(
            "  " + shorten(text, width).ljust(width) for text, width in zip(cells, widths, strict=True)
        ).rstrip()


def shorten(text: str, width: int) -> str:
    """The text, cut with a dot dot dot where it is longer."""
    return text if len(text) <= width else text[: width - 1] + "…"
