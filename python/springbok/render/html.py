"""Reports as HTML: self-contained, escaped, without scripts, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from springbok.model import ComparisonData, ReportData, Side
from springbok.render.lines import shorten
from springbok.render.plan_svg import STYLE, plan
from springbok.render.words import (
    amount,
    conjunct,
    cost,
    effect,
    factor,
    filter_name,
    identity,
    keys,
    missing,
    observed,
    read,
    size,
    state,
    statements,
    strategy,
    used,
    verdict,
    which,
)

_STYLE = """
.springbok{--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--box:#f6f8fa;--good:#116329;--goodbg:#dafbe1;--idle:#7d4e00;
 --idlebg:#fff3d6;--bad:#a40e26;--badbg:#ffebe9;--flow:#8ba3bd;--cast:#b9a1d6;
 color:var(--ink);font:14px/1.45 system-ui,sans-serif;max-width:80rem}
@media (prefers-color-scheme:dark){.springbok{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--box:#161b22;--good:#7ee2a0;
 --goodbg:#12361f;--idle:#f0c674;--idlebg:#3a2d0c;--bad:#ff9a92;--badbg:#481318;--flow:#4d6a8a;--cast:#72599b}}
.springbok h3{margin:1.4em 0 .4em;font-size:15px}
.springbok table{border-collapse:collapse;width:100%}
.springbok th,.springbok td{border-bottom:1px solid var(--line);padding:.35em .6em;text-align:left;vertical-align:top;
 background:none;color:inherit}
.springbok th{color:var(--soft);font-weight:600;white-space:nowrap}
.springbok code{font:12px ui-monospace,monospace;overflow-wrap:anywhere;color:inherit;background:none}
.springbok td{overflow-wrap:anywhere}
.springbok .soft{color:var(--soft)}
.springbok .used,.springbok .idle,.springbok .bad{border-radius:4px;padding:0 .4em;white-space:nowrap}
.springbok .used{color:var(--good);background:var(--goodbg)}
.springbok .idle{color:var(--idle);background:var(--idlebg)}
.springbok .bad{color:var(--bad);background:var(--badbg)}
.springbok details summary{cursor:pointer;color:var(--soft)}
.springbok ul{margin:.3em 0;padding-left:1.2em}
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Springbok strategy report</title>
<style>body{{margin:2rem;background:#fff}}@media (prefers-color-scheme:dark){{body{{background:#0d1117}}}}</style>
</head><body>{body}</body></html>
"""


def page(r: ReportData) -> str:
    """A whole page."""
    return _PAGE.format(body=fragment(r))


def fragment(r: ReportData) -> str:
    """What a notebook shows."""
    memory = r.resources.join_memory_per_executor_bytes
    asks = f"The joins may take {size(memory)} of each executor's {size(r.resources.executor_heap_bytes)} heap."
    picture = plan(r)
    versions = f"<strong>Springbok {escape(r.springbok)}</strong> on Spark {escape(r.spark)}"
    return _framed(
        f"<p>{versions}: {_chip(r.state, state(r))}</p>",
        f"<p>{_code(shorten(which(r), 300))}</p>" if which(r) else "",
        f"<details><summary>query</summary>{''.join(f'<p>{escape(t)}</p>' for t in identity(r))}</details>",
        *(f"<p>{escape(t)}</p>" for t in (r.note, *missing(r)) if t),
        *(f"<p>{_chip('bad', 'failed')} {escape(f['rule'])} with {escape(f['error'])}</p>" for f in r.failures),
        _joins(r),
        _filters(r),
        _section(
            "Conjuncts put into another order",
            ("operator", "in this order", "ns a row"),
            [
                (
                    escape(c.operator),
                    "<br>".join(_code(conjunct(e)) for e in c.order),
                    f"{c.cost_after:.0f} instead of {c.cost_before:.0f}",
                )
                for c in r.conjuncts
                if c.changed
            ],
        ),
        f'<h3>Plan</h3><div class="scroll">{picture}</div>' if picture else "",
        _tables(r),
        _section("Statistics to collect", ("statement",), [(_code(t),) for t in statements(r)]),
        f"<p>{escape(asks)}</p>" if memory else "",
        _section(
            "Settings that differ from the default",
            ("setting", "value"),
            [(_code(k), _code(v)) for k, v in r.settings.items()],
        ),
    )


def comparison(c: ComparisonData) -> str:
    """Both plans side by side, as a notebook shows them."""
    rows = [
        (
            _code(j.join),
            escape(j.off or "none"),
            escape(j.on or "none") + (" " + _chip("used", "changed") if j.changed else ""),
            escape(str(j.reason)) if j.changed and j.reason else "",
        )
        for j in c.joins
    ]
    return _framed(
        f"<p><strong>Without and with Springbok</strong> {escape(verdict(c))}</p>",
        _section("Joins", ("join", "without", "with", "why"), rows),
        _section("Runtime filters", ("filter",), [(_code(t),) for t in used(c)]),
    )


def _framed(*parts: str) -> str:
    return f'<div class="springbok"><style>{_STYLE}{STYLE}</style>{"".join(parts)}</div>'


def _chip(kind: str, text: str) -> str:
    """A word with a colour of its own."""
    known = {"used": "used", "executed": "used", "bad": "bad"}
    return f'<span class="{known.get(kind, "idle")}">{escape(text)}</span>'


def _off(text: str, q: float | None) -> str:
    """Marks how far an estimate is off where that is ten times and more."""
    mark = factor(q)
    return escape(text).replace(escape(mark), " " + _chip("bad", mark.lstrip(", "))) if q and q >= 10 else escape(text)


def _joins(r: ReportData) -> str:
    rows = []
    for j in r.joins:
        chosen = [escape(strategy(j))]
        if j.distribution and j.distribution not in (j.strategy or ""):
            chosen.append(f'<span class="soft">{escape(j.distribution)}</span>')
        if j.revised:
            chosen.append(f"{_chip('revised', 'changed at run time')} from {escape(str(j.before))}")
        if j.hint_honoured is False:
            chosen.append(f"{_chip('bad', 'hint not honoured')} {_code(str(j.hint))}")
        others = "".join(f"<li>{escape(cost(a))}</li>" for a in j.alternatives)
        why = [escape(str(t)) for t in (j.reason, *j.notes) if t]
        more = f"<details><summary>alternatives</summary><ul>{others}</ul></details>" if others else ""
        rows.append(
            (
                str(j.id),
                f"{escape(j.type)} {_code(keys(j))}"
                + (f'<br><span class="soft">and</span> {_code(j.other_conjuncts)}' if j.other_conjuncts else ""),
                "<br>".join(chosen),
                "<br>".join(_side(name, s) for name, s in (("left", j.left), ("right", j.right))),
                _off(amount(j.output_rows, unknown="") + factor(j.q_error), j.q_error),
                "<br>".join(why) + more,
            )
        )
    return _section("Joins", ("", "join", "strategy", "rows", "rows out", "why"), rows)


def _side(name: str, s: Side) -> str:
    seen = f"; {_off(observed(s), s.q_error)}" if s.observed_rows is not None else ""
    return f'{name}: {amount(s.rows)} <span class="soft">({escape(s.rows_source)})</span>{seen}'


def _filters(r: ReportData) -> str:
    rows = [
        (
            _code(filter_name(f)),
            str(f.join),
            _chip(f.status, f.status),
            escape(effect(f)),
            "" if f.status == "used" else escape(str(f.reason)),
        )
        for f in r.filters
    ]
    return _section("Runtime filters", ("filter", "join", "status", "effect", "why not"), rows)


def _tables(r: ReportData) -> str:
    rows = [
        (
            escape(t.name or "?"),
            escape(t.format),
            size(t.bytes),
            f"{amount(t.rows)} ({escape(t.rows_source)})"
            + (f" {_chip('bad', 'no statistics')}" if t.rows is None else ""),
            escape(read(t)),
            _code(", ".join(t.columns)),
        )
        for t in r.tables
    ]
    return _section("Tables", ("table", "format", "bytes", "rows", "read", "columns"), rows)


def _section(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table of cells that are HTML already."""
    if not rows:
        return ""
    top = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f"<h3>{escape(title)}</h3><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
