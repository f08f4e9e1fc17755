"""The plan as an inline SVG: fragments as boxes, exchanges as lines as wide as their rows, filters as arrows."""

from __future__ import annotations

import math
from collections import defaultdict
from html import escape

from springbok.model import Exchange, Fragment, ReportData
from springbok.render.words import amount

_WIDTH, _GAP, _LINE, _RISE = 300, 90, 15, 64
_MOST_LINES, _MOST_CHARACTERS = 7, 42

STYLE = """
.springbok svg{display:block;max-width:none}
.springbok svg text{font:11px ui-monospace,monospace;fill:var(--ink)}
.springbok svg .head{font-weight:700}
.springbok svg .label{fill:var(--soft)}
.springbok svg rect{fill:var(--box);stroke:var(--line);stroke-width:1.5}
.springbok svg .rows{fill:none;stroke:var(--flow);stroke-linecap:round}
.springbok svg .broadcast{stroke:var(--cast)}
.springbok svg .filter{fill:none;stroke:var(--good);stroke-width:1.5;stroke-dasharray:5 4}
.springbok svg .filterlabel,.springbok svg marker path{fill:var(--good)}
.springbok .scroll{overflow-x:auto}
"""


def plan(r: ReportData) -> str:
    """The plan from the scans at the top to the result at the bottom; empty for a report without fragments."""
    if not r.fragments:
        return ""
    boxes = {f.id: _lines(f, r) for f in r.fragments}
    layers = _layers(r.fragments)
    x, y, width, height = _places(layers, boxes, {f.id: f for f in r.fragments})
    parts = [
        f'<svg role="img" aria-label="The query\'s plan: {len(boxes)} fragments" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        '<defs><marker id="springbok-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for f in r.fragments:
        for to in f.exchange.to if f.exchange else ():
            start = (x[f.id] + _WIDTH / 2, y[f.id] + _height(boxes[f.id]))
            parts.append(_flow(f.exchange, f.kind, start, (x[to] + _WIDTH / 2, y[to])))
    for name, source, target in _filters(r):
        parts.append(_filter(name, (x[source], y[source]), (x[target], y[target]), _height(boxes[source])))
    for f in r.fragments:
        parts.append(_box(f, boxes[f.id], x[f.id], y[f.id]))
    return "".join((*parts, "</svg>"))


def _lines(f: Fragment, r: ReportData) -> list[tuple[str, str]]:
    """What stands in a box: its kind, then what is worth knowing of its operators, each with its rows."""
    joins = {j.id: j for j in r.joins}
    lines = [(f"{f.id} {f.kind}, {f.partitioning.kind}", "rows")]
    for n in f.nodes:
        rows = n.rows if n.rows is not None else n.estimated_rows
        count = ("" if n.rows is not None else "~") + amount(rows) if rows is not None else ""
        if n.join is not None and n.join in joins:
            lines.append((f"join {n.join} {joins[n.join].strategy}", count))
        elif n.filter:
            lines.append((n.label.removeprefix("RuntimeFilter "), count))
        elif n.operator.endswith("Join") or n.label.startswith(("Scan", "Aggregate", "Filter", "Window")):
            lines.append((n.label, count))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], (f"and {len(lines) - _MOST_LINES + 1} more", "")]
    return lines


def _layers(fragments: tuple[Fragment, ...]) -> list[list[int]]:
    """Fragments by their distance from the result, the farthest first."""
    depth: dict[int, int] = defaultdict(int)
    for f in reversed(fragments):  # whoever reads stands after what it reads
        for i in f.inputs:
            depth[i] = max(depth[i], depth[f.id] + 1)
    layers: list[list[int]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for f in fragments:
        layers[len(layers) - 1 - depth[f.id]].append(f.id)
    return layers


def _places(
    layers: list[list[int]], boxes: dict[int, list[tuple[str, str]]], fragments: dict[int, Fragment]
) -> tuple[dict[int, float], dict[int, float], float, float]:
    """Left and top of each box, width and height of the whole; a box stands above those that read it."""
    readers: dict[int, list[int]] = defaultdict(list)
    for f in fragments.values():
        for i in f.inputs:
            readers[i].append(f.id)
    widest = max(len(layer) for layer in layers)
    width = widest * (_WIDTH + _GAP)
    x: dict[int, float] = {}
    for layer in reversed(layers):
        layer.sort(key=lambda i: (min((x[r] for r in readers[i] if r in x), default=0), i))
        left = (width - len(layer) * (_WIDTH + _GAP)) / 2 + 10
        for at, i in enumerate(layer):
            x[i] = left + at * (_WIDTH + _GAP)
    y: dict[int, float] = {}
    top = 10.0
    for layer in layers:
        for i in layer:
            y[i] = top
        top += max(_height(boxes[i]) for i in layer) + _RISE
    return x, y, width, top - _RISE + 10


def _height(lines: list[tuple[str, str]]) -> float:
    return 14 + _LINE * len(lines)


def _box(f: Fragment, lines: list[tuple[str, str]], x: float, y: float) -> str:
    title = "\n".join(n.label for n in f.nodes[:40])
    texts = []
    for i, (text, count) in enumerate(lines):
        kind = ' class="head"' if i == 0 else ""
        line = f"{y + 18 + _LINE * i:.0f}"
        texts.append(f'<text x="{x + 9:.0f}" y="{line}"{kind}>{_short(text, _MOST_CHARACTERS - len(count))}</text>')
        texts.append(
            f'<text class="label" text-anchor="end" x="{x + _WIDTH - 9:.0f}" y="{line}">{escape(count)}</text>'
        )
    rect = f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_height(lines):.0f}" rx="6"/>'
    return f"<g><title>{escape(title)}</title>{rect}{''.join(texts)}</g>"


def _short(text: str, most: int) -> str:
    return escape(text if len(text) <= most else text[: most - 1] + "…")


def _flow(e: Exchange | None, kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """A line from one box to another, its width the logarithm of its rows."""
    rows = (e.rows if e.rows is not None else e.estimated_rows) if e else None
    wide = 1.5 + 1.2 * math.log10(max(1, rows or 1))
    (x1, y1), (x2, y2) = start, end
    middle = (y1 + y2) / 2
    path = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {y2:.0f}"
    guess = "" if e and e.rows is not None else "~"
    text = escape(f"{kind} {guess}{amount(rows)}")
    return (
        f'<path class="rows {escape(kind)}" stroke-width="{wide:.1f}" d="{path}"><title>{text} rows</title></path>'
        f'<text class="label" x="{(x1 + x2) / 2 + 10:.0f}" y="{middle + 4:.0f}">{text}</text>'
    )


def _filters(r: ReportData) -> list[tuple[str, int, int]]:
    ids = {f.id for f in r.fragments}
    return [
        (f.id or "", f.from_fragment, to)
        for f in r.filters
        if f.status in ("placed", "used") and f.from_fragment in ids
        for to in f.to_fragments
        if to in ids and to != f.from_fragment
    ]


def _filter(name: str, source: tuple[float, float], target: tuple[float, float], height: float) -> str:
    """A dashed arrow from the right or left edge of the source to the near edge of the target."""
    right = target[0] >= source[0]
    x1 = source[0] + (_WIDTH if right else 0)
    same = abs(target[0] - source[0]) < _WIDTH
    x2 = target[0] + (_WIDTH if same == right else 0)
    y1, y2 = source[1] + height / 2, target[1] + 24
    bend = 30 if right else -30
    path = (
        f"M{x1:.0f} {y1:.0f}C{x1 + bend:.0f} {y1:.0f} {x2 + (bend if same else -bend):.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    )
    return (
        f'<path class="filter" marker-end="url(#springbok-arrow)" d="{path}"><title>{escape(name)}</title></path>'
        f'<text class="filterlabel" x="{(x1 + x2) / 2 + (bend if same else -12):.0f}" y="{(y1 + y2) / 2 - 4:.0f}">'
        f"{escape(name)}</text>"
    )
