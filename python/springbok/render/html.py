"""Comparisons as HTML: self-contained, escaped, without scripts. The JVM half makes the page of a report."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from springbok.model import ComparisonData
from springbok.render.words import used, verdict

_STYLE = """
.springbok-comparison table{border-collapse:collapse}
.springbok-comparison th,.springbok-comparison td{border-bottom:1px solid #8884;padding:.35em .6em;text-align:left;
 vertical-align:top;overflow-wrap:anywhere}
.springbok-comparison strong{color:light-dark(#116329,#7ee2a0)}
"""


def comparison(c: ComparisonData) -> str:
    """Both plans side by side, as a notebook shows them."""
    rows = [
        (
            _code(j.join),
            escape(j.off or "none"),
            escape(j.on or "none") + (" <strong>changed</strong>" if j.changed else ""),
            escape(str(j.reason)) if j.changed and j.reason else "",
        )
        for j in c.joins
    ]
    parts = (
        f"<p>Without and with Springbok: {escape(verdict(c))}</p>",
        _section("Joins", ("join", "without", "with", "why"), rows),
        _section("Runtime filters", ("filter",), [(_code(t),) for t in used(c)]),
    )
    return f'<div class="springbok-comparison"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _section(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table of cells that are HTML already."""
    if not rows:
        return ""
    top = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f"<h3>{escape(title)}</h3><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
