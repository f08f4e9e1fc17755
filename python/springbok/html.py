"""Reports as HTML: self-contained, escaped, without scripts, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from springbok.text import amount, cost, effect, filter_name, keys, size, strategy

if TYPE_CHECKING:
    from springbok.report import Report

_STYLE = """
.springbok{--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--good:#116329;--goodbg:#dafbe1;--idle:#7d4e00;--idlebg:#fff3d6;
 color:var(--ink);font:14px/1.45 system-ui,sans-serif;max-width:72rem}
@media (prefers-color-scheme:dark){.springbok{
 --ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--good:#7ee2a0;--goodbg:#12361f;--idle:#f0c674;--idlebg:#3a2d0c}}
.springbok h3{margin:1.2em 0 .4em;font-size:15px}
.springbok table{border-collapse:collapse;width:100%}
.springbok th,.springbok td{border-bottom:1px solid var(--line);padding:.3em .6em;text-align:left;vertical-align:top;
 background:none;color:inherit}
.springbok th{color:var(--soft);font-weight:600}
.springbok code{font:12px ui-monospace,monospace;overflow-wrap:anywhere}
.springbok .soft{color:var(--soft)}
.springbok .used,.springbok .idle{border-radius:4px;padding:0 .4em;white-space:nowrap}
.springbok .used{color:var(--good);background:var(--goodbg)}
.springbok .idle{color:var(--idle);background:var(--idlebg)}
.springbok details summary{cursor:pointer;color:var(--soft)}
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Springbok strategy report</title>
<style>body{{margin:2rem;background:#fff}}@media (prefers-color-scheme:dark){{body{{background:#0d1117}}}}</style>
</head><body>{body}</body></html>
"""


def page(r: Report) -> str:
    """A whole page."""
    return _PAGE.format(body=fragment(r))


def fragment(r: Report) -> str:
    """What a notebook shows."""
    parts = [
        f"<p><strong>Springbok {escape(r.springbok)}</strong> on Spark {escape(r.spark)}: {escape(r.state)}</p>",
        f"<p>{escape(r.note)}</p>" if r.note else "",
        _joins(r),
        _filters(r),
        _tables(r),
        "".join(f"<p>Failed: {escape(f['rule'])} with {escape(f['error'])}</p>" for f in r.failures),
        _section(
            "Settings that differ from the default",
            ("setting", "value"),
            [(_code(k), _code(v)) for k, v in r.settings.items()],
        ),
    ]
    return f'<div class="springbok"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _joins(r: Report) -> str:
    rows = []
    for j in r.joins:
        chosen = escape(strategy(j)) + (
            f'<br><span class="soft">revised; planned {escape(str(j.planned))}</span>' if j.revised else ""
        )
        sides = "<br>".join(
            f"{name}: {amount(s.rows)} <span class='soft'>({escape(s.rows_source)})</span>"
            for name, s in (("left", j.left), ("right", j.right))
            if s
        )
        others = "".join(f"<li>{escape(cost(a))}</li>" for a in j.alternatives)
        why = escape(str(j.reason)) if j.reason else ""
        more = f"<details><summary>alternatives</summary><ul>{others}</ul></details>" if others else ""
        rows.append(
            (
                str(j.id),
                f"{escape(j.type)} {_code(keys(j))}",
                chosen,
                sides,
                amount(j.output_rows, unknown=""),
                why + more,
            )
        )
    return _section("Joins", ("", "join", "strategy", "rows estimated", "rows out", "why"), rows)


def _filters(r: Report) -> str:
    rows = [
        (
            _code(filter_name(f)),
            str(f.join),
            f'<span class="{"used" if f.status == "used" else "idle"}">{escape(f.status)}</span>',
            escape(effect(f)),
            "" if f.status == "used" else escape(str(f.reason)),
        )
        for f in r.filters
    ]
    return _section("Runtime filters", ("filter", "join", "status", "effect", "why not"), rows)


def _tables(r: Report) -> str:
    rows = [
        (escape(t.name or "?"), escape(t.format), size(t.bytes), f"{amount(t.rows)} ({escape(t.rows_source)})")
        for t in r.tables
    ]
    return _section("Tables", ("table", "format", "bytes", "rows"), rows)


def _section(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table of cells that are HTML already."""
    if not rows:
        return ""
    top = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f"<h3>{escape(title)}</h3><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
