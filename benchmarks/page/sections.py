"""The parts of the results page that come from JSON files, as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.arms import ARMS
from benchmarks.page import figures
from benchmarks.page.figures import LOSS, Gain, Pair, Record

_MOST_GAINS = 3
# A longer list of queries is shortened in the command.
_MOST_QUERIES = 25


def source(results: Record) -> str:
    """The command of a study, which leads to its figures."""
    return _command(results)


def study(results: Record) -> str:
    """The table of a study."""
    return _joined(_command(results), table(*results["table"]))


def suite(results: Record, again: Record | None = None) -> str:
    """The arms against the first of them, and the gains and losses of the last arm against each other arm.

    `again` holds more runs of queries that lost; their ratios come beside the losses.
    """
    queries, names = results["queries"], list(results["arms"])
    ranked = []
    for base in names[:-1]:
        pairs = figures.pairs(queries, base, names[-1])
        more = {p.query: p.ratio for p in figures.pairs(again["queries"], base, names[-1])} if again else {}
        ranked.append(f"- Against `{base}`: largest gains {_gains(pairs)}; {_losses(pairs, more)}.")
    return _joined(arms(results), _answers(queries), "\n".join(ranked))


def arms(results: Record) -> str:
    """The command, and the arms against the first of them; arms that no longer exist are left out."""
    names = list(results["arms"])
    measured = {arm: figures.pairs(results["queries"], names[0], arm) for arm in names if arm in ARMS}
    base = sum(p.base["seconds"] for p in measured.pop(names[0]))
    overview = table(
        [f"against `{names[0]}` ({base:.1f} s)", "geomean", "lowest", "seconds", "CPU", "read", "shuffled", "rules ms"],
        *(_overview(arm, pairs) for arm, pairs in measured.items() if pairs),
    )
    return _joined(_command(results), overview)


def samples(*files: Record) -> str:
    """One line for each file: `springbok` against `spark`."""
    head = ["suite", "layout", "format", "Spark", "geomean", "CPU", f"below {LOSS}x"]
    return table(head, *(_sample(results) for results in files))


def orders(*files: Record) -> str:
    """How much the order in which a query's joins are written matters to the first arm of each file."""
    slowest = [(r, figures.slowest_order(r["queries"], next(iter(r["arms"])))) for r in files]
    names = list(dict.fromkeys(q for _, ratios in slowest for q in ratios))
    rows = [
        [f"`{next(iter(r['arms']))}`, {_runs(r)}", *(f"{ratios[q]:.2f}x" if q in ratios else "-" for q in names)]
        for r, ratios in slowest
    ]
    return _joined(*(_command(r) for r in files), table(["arm", *names], *rows))


def gains(found: list[Gain]) -> str:
    """The summary of all suites."""
    rows = [[g.label, *(f"{v:.2f}x" if v else "-" for v in (g.spark, g.tuned))] for g in found]
    return table(["suite", "against `spark`", "against `tuned`"], *rows)


def table(head: list[Any], *rows: list[Any]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(str(c) for c in cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def _joined(*parts: str) -> str:
    return "\n\n".join(p for p in parts if p)


def _command(results: Record) -> str:
    """The command, without the names of many queries; it leads to the figures."""
    words = results["command"].split(" ")
    short = " ".join(w if w.count(",") < _MOST_QUERIES else f"{w.count(',') + 1}-queries" for w in words)
    return f"[`{short}`]({results['file']})"


def _overview(arm: str, pairs: list[Pair]) -> list[str]:
    less = [figures.less(pairs, metric) for metric in ("cpu_s", "bytes_read", "shuffle_bytes")]
    median, p95 = figures.median_and_p95(pairs, "rules_ms")
    return [
        f"`{arm}`",
        f"{figures.geomean(pairs):.2f}x",
        f"{min(p.ratio for p in pairs):.2f}x",
        f"{sum(p.arm['seconds'] for p in pairs):.1f}",
        *(_times(x) for x in less),
        f"{median:.0f}, {p95:.0f}",
    ]


def _sample(results: Record) -> list[str]:
    e = results["experiment"]
    pairs = figures.pairs(results["queries"], "spark", "springbok")
    cpu = figures.less(pairs, "cpu_s")
    return [
        f"[{e['suite']}-sf{e['scale']:g}]({results['file']})",
        e["layout"],
        e.get("format", "files"),
        results["versions"]["spark"],
        f"{figures.geomean(pairs):.2f}x",
        _times(cpu),
        _named(_lost(pairs)),
    ]


def _runs(results: Record) -> str:
    runs = results["experiment"]["runs"]
    return f"{runs} run" if runs == 1 else f"{runs} runs"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.2f}x" if ratio < 100 else f"{ratio:,.0f}x"


def _answers(queries: list[Record]) -> str:
    different = [q["query"] for q in queries if q["answers"] == "DIFFERENT"]
    failed = [q["query"] for q in queries if any("error" in a for a in q["arms"].values())]
    tied = sum(q["answers"] == "tied" for q in queries)
    parts = [f"Answers differ: {', '.join(different)}."] if different else []
    if tied:
        parts.append(f"{tied} queries returned other rows of those that tie at their LIMIT; without it they are equal.")
    if failed:
        parts.append(f"Failed: {', '.join(failed)}.")
    return " ".join(parts)


def _gains(pairs: list[Pair]) -> str:
    return _named(sorted((p for p in pairs if p.ratio > 1), key=lambda p: -p.ratio)[:_MOST_GAINS])


def _losses(pairs: list[Pair], again: dict[str, float]) -> str:
    """How many queries lost, and which; in brackets the ratio of their runs in `again`."""
    lost = _lost(pairs)
    named = f": {_named(lost, again)}" if lost else ""
    return f"{len(lost)} of {len(pairs)} queries below {LOSS}x{named}"


def _lost(pairs: list[Pair]) -> list[Pair]:
    return sorted((p for p in pairs if p.ratio < LOSS), key=lambda p: p.ratio)


def _named(pairs: list[Pair], again: dict[str, float] | None = None) -> str:
    more = {q: f" ({ratio:.2f}x)" for q, ratio in (again or {}).items()}
    return ", ".join(f"{p.query} {p.ratio:.2f}x{more.get(p.query, '')}" for p in pairs) or "none"
