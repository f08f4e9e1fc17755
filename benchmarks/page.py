"""The page of results: benchmarks/results/README.md and its plots, from the JSON beside it."""

from __future__ import annotations

import json
import math
import statistics
from html import escape
from pathlib import Path
from typing import Any

Record = dict[str, Any]
# Slower than this is a loss that the page names.
LOSS = 0.97
_INK, _LINE, _GOOD, _BAD = "#59636e", "#9198a1", "#2da44e", "#cf222e"


def write(folder: Path) -> Path:
    """Write the page and its plots anew."""
    parts = [
        "# Results\n",
        "Made by `make bench` and `make bench-page`; every figure is in the JSON files beside this page. Ratios are of "
        "medians, in the same process and by turns: above 1 is faster than S, Spark as it comes.\n",
    ]
    for path in sorted(folder.glob("*.json")):
        results = json.loads(path.read_text(encoding="utf-8"))
        if "experiment" in results:
            parts.append(_section(path, results))
        elif "table" in results:
            parts.append(_table(results))
    page = folder / "README.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def _table(results: Record) -> str:
    """A benchmark that is a table by itself."""
    head, *rows = results["table"]
    lines = [f"## {results['title']}\n", f"`{results['command']}`\n"]
    lines += [_cells(head), _cells(["---"] * len(head)), *(_cells(r) for r in rows), ""]
    return "\n".join(lines)


def _section(path: Path, results: Record) -> str:
    e, machine = results["experiment"], results["machine"]
    queries = results["queries"]
    arms = list(results["arms"])
    base = arms[0]
    lines = [
        f"## {e['suite']}, scale {e['scale']:g}, {e['layout']}\n",
        f"`{results['command']}`, {e['runs']} timed runs after {e['warmups']}; {machine['master']} on "
        f"{machine['cores']} cores ({machine['architecture']}), driver {machine['driver_memory']}; Spark "
        f"{results['versions']['spark']}, Springbok {results['versions']['springbok']}. {results.get('note', '')}\n",
        _cells([f"against {base}", "queries", "geomean", "total s", "CPU", "read", "shuffled", "≥ 2x", "< 0.97x",
                "planning ms median / p95", "rules ms median / p95"]),
        _cells(["---"] + ["---:"] * 10),
    ]  # fmt: skip
    lines += [_summary(queries, base, arm) for arm in arms]
    different = [q["query"] for q in queries if q["answers"] == "DIFFERENT"]
    failed = [q["query"] for q in queries if any("error" in a for a in q["arms"].values())]
    lines.append(
        f"\nAnswers differ: {', '.join(different) or 'none'}. Failed: {', '.join(failed) or 'none'}. "
        f"Tied at a LIMIT and equal without it: {sum(q['answers'] == 'tied' for q in queries)}.\n"
    )
    if e["suite"] == "joinorder":
        lines += [_orders(queries, arm) for arm in arms]
    for arm in arms[1:]:
        rows = _ratios(queries, base, arm)
        if not rows:
            continue
        name = f"{path.stem}-{arm.replace('+', '-and-')}"
        bars, scatter = f"{name}-bars.svg", f"{name}-scatter.svg"
        (path.parent / bars).write_text(_bars(rows, f"{arm} against {base}"), encoding="utf-8")
        (path.parent / scatter).write_text(_scatter(queries, base, arm), encoding="utf-8")
        lines.append(f"![{arm} against {base}, query by query]({bars})\n\n![seconds in {base} and {arm}]({scatter})\n")
        ranked = sorted(rows, key=lambda r: r[1])
        lines.append(f"Largest gains of {arm}: " + _named(ranked[::-1][:10]) + ".\n")
        lines.append(f"Losses of {arm}: " + (_named([r for r in ranked if r[1] < LOSS]) or "none") + ".\n")
    return "\n".join(lines)


def _orders(queries: list[Record], arm: str) -> str:
    """How much the order in which a query's joins are written matters."""
    times: dict[str, list[float]] = {}
    for q in queries:
        if "seconds" in q["arms"].get(arm, {}):
            times.setdefault(q["query"].split("-")[0], []).append(q["arms"][arm]["seconds"])
    ratios = {q: max(t) / min(t) for q, t in times.items()}
    return (
        f"Slowest against fastest join order in {arm}: " + ", ".join(f"{q} {r:.2f}" for q, r in ratios.items()) + ".\n"
    )


def _named(rows: list[tuple[str, float]]) -> str:
    return ", ".join(f"{q} {r:.2f}x" for q, r in rows)


def _cells(cells: list[Any]) -> str:
    return "| " + " | ".join(str(c) for c in cells) + " |"


def _pairs(queries: list[Record], base: str, arm: str) -> list[tuple[str, Record, Record]]:
    """Queries that ran in both arms."""
    both = [(q["query"], q["arms"].get(base, {}), q["arms"].get(arm, {})) for q in queries]
    return [(q, a, b) for q, a, b in both if "seconds" in a and "seconds" in b]


def _ratios(queries: list[Record], base: str, arm: str) -> list[tuple[str, float]]:
    return [(q, a["seconds"] / b["seconds"]) for q, a, b in _pairs(queries, base, arm)]


def _summary(queries: list[Record], base: str, arm: str) -> str:
    pairs = _pairs(queries, base, arm)
    if not pairs:
        return _cells([arm, 0] + ["-"] * 9)
    ratios = [a["seconds"] / b["seconds"] for _, a, b in pairs]

    def less(metric: str) -> str:
        mine = sum(b[metric] for _, _, b in pairs)
        return f"{sum(a[metric] for _, a, _ in pairs) / mine:.2f}x" if mine else "-"

    def both(metric: str) -> str:
        values = sorted(b[metric] for _, _, b in pairs)
        return f"{statistics.median(values):.0f} / {values[math.ceil(0.95 * len(values)) - 1]:.0f}"

    return _cells([
        arm, len(pairs), f"{statistics.geometric_mean(ratios):.2f}x", f"{sum(b['seconds'] for _, _, b in pairs):.1f}",
        less("cpu_s"), less("bytes_read"), less("shuffle_bytes"), sum(r >= 2 for r in ratios),
        sum(r < LOSS for r in ratios), both("planning_ms"), both("rules_ms"),
    ])  # fmt: skip


def _svg(width: float, height: float, body: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" font-family="sans-serif" '
        f'font-size="10" fill="{_INK}">\n' + "\n".join(body) + "\n</svg>\n"
    )


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{_LINE}" {more}/>'


def _bars(rows: list[tuple[str, float]], title: str) -> str:
    """One bar a query, up for faster and down for slower, on a logarithmic scale, the fastest first."""
    rows = sorted(rows, key=lambda r: -r[1])
    step, left, top, half = 14, 40, 30, 34
    high = max(1.0, *(abs(math.log2(r)) for _, r in rows))
    height = 2 * high * half
    middle = top + high * half
    body = [_text(left, 16, f"{title}: faster above 1x, slower below", 'font-size="12"')]
    for power in range(-math.floor(high), math.floor(high) + 1):
        y = middle - power * half
        body += [_line(left, y, left + step * len(rows), y, 'stroke-width="0.5"'), _text(4, y + 3, f"{2.0**power:g}x")]
    for i, (query, ratio) in enumerate(rows):
        y = middle - math.log2(ratio) * half
        color = _GOOD if ratio >= 1 else _BAD
        x = left + i * step
        body.append(
            f'<rect x="{x + 2}" y="{min(y, middle):.1f}" width="{step - 4}" height="{abs(y - middle):.1f}" '
            f'fill="{color}"><title>{escape(query)}: {ratio:.2f}x</title></rect>'
        )
        label = top + height + 8
        body.append(_text(x + 10, label, query, f'transform="rotate(90 {x + 4} {label})" font-size="9"'))
    return _svg(left + step * len(rows) + 10, top + height + 50, body)


def _scatter(queries: list[Record], base: str, arm: str) -> str:
    """Seconds in one arm against the other, both logarithmic; below the diagonal the arm is faster."""
    points = [(q, a["seconds"], b["seconds"]) for q, a, b in _pairs(queries, base, arm)]
    low = math.floor(math.log10(min(min(a, b) for _, a, b in points)))
    high = math.ceil(math.log10(max(max(a, b) for _, a, b in points)))
    size, left, top = 300, 50, 20

    def at(x: float, y: float) -> tuple[float, float]:
        unit = size / (high - low)
        return left + (math.log10(x) - low) * unit, top + size - (math.log10(y) - low) * unit

    body = [_line(left, top + size, left + size, top, 'stroke-dasharray="4"')]
    for power in range(low, high + 1):
        x, y = at(10.0**power, 10.0**power)
        body += [
            _line(x, top, x, top + size, 'stroke-width="0.5"'),
            _line(left, y, left + size, y, 'stroke-width="0.5"'),
        ]
        body += [_text(x - 6, top + size + 14, f"{10.0**power:g}"), _text(18, y + 3, f"{10.0**power:g}")]
    for query, a, b in points:
        x, y = at(a, b)
        color = _GOOD if b <= a else _BAD
        body.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}" fill-opacity="0.7">'
            f"<title>{escape(query)}: {a:.2f} s, {b:.2f} s</title></circle>"
        )
    body += [_text(left + size / 2 - 30, top + size + 28, f"seconds in {base}"), _text(2, 12, f"seconds in {arm}")]
    return _svg(left + size + 20, top + size + 36, body)
