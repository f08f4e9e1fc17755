"""The parts of the results page that come from JSON files, as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.arms import ARMS
from benchmarks.page import figures
from benchmarks.page.figures import LOSS, Gain, Pair, Record

_MOST_GAINS = 5
# A longer list of queries is shortened in the command.
_MOST_QUERIES = 25


def study(results: Record) -> str:
    """The table of a study."""
    return _joined(f"`{results['command']}`", table(*results["table"]))


def suite(results: Record, again: Record | None = None) -> str:
    """The arms against the first of them, and the gains and losses of the last arm against each other arm.

    `again` holds more runs of queries that lost; their ratios come beside the losses.
    """
    queries, names = results["queries"], list(results["arms"])
    last = names[-1]
    rows = []
    for base in names[:-1]:
        pairs = figures.pairs(queries, base, last)
        more = {p.query: p.ratio for p in figures.pairs(again["queries"], base, last)} if again else {}
        rows.append([f"`{base}`", _gains(pairs), *_losses(pairs, more)])
    ranked = table([f"`{last}` against", "largest gains", f"below {LOSS}x", "losses"], *rows)
    return _joined(arms(results), _answers(queries), ranked)


def arms(results: Record) -> str:
    """The command, and the arms against the first of them; arms that no longer exist are left out."""
    names = list(results["arms"])
    measured = {arm: figures.pairs(results["queries"], names[0], arm) for arm in names if arm in ARMS}
    overview = table(
        [f"against `{names[0]}`", "geomean", "lowest", "≥ 2x", "total s", "CPU", "read", "shuffled", "planning ms",
         "rules ms"],
        *(_overview(arm, pairs) for arm, pairs in measured.items() if pairs),
    )  # fmt: skip
    return _joined(f"`{_command(results)}`", overview)


def samples(*files: Record) -> str:
    """One line for each file: `springbok` against `spark`."""
    return table(
        ["queries", "layout", "format", "Spark", "runs", "geomean", "CPU", "read", "losses"],
        *(_sample(results) for results in files),
    )


def orders(*files: Record) -> str:
    """How much the order in which a query's joins are written matters to the first arm of each file."""
    slowest = [(r, figures.slowest_order(r["queries"], next(iter(r["arms"])))) for r in files]
    names = list(dict.fromkeys(q for _, ratios in slowest for q in ratios))
    rows = [
        [f"`{next(iter(r['arms']))}`, {_runs(r)}", *(f"{ratios[q]:.2f}x" if q in ratios else "-" for q in names)]
        for r, ratios in slowest
    ]
    return _joined(*(f"`{_command(r)}`" for r in files), table(["slowest / fastest order", *names], *rows))


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
    """The command, without the names of many queries."""
    words = results["command"].split(" ")
    short = [w if w.count(",") < _MOST_QUERIES else f"({w.count(',') + 1} queries)" for w in words]
    return " ".join(short)


def _overview(arm: str, pairs: list[Pair]) -> list[str]:
    less = [figures.less(pairs, metric) for metric in ("cpu_s", "bytes_read", "shuffle_bytes")]
    times = [figures.median_and_p95(pairs, metric) for metric in ("planning_ms", "rules_ms")]
    return [
        f"`{arm}`",
        f"{figures.geomean(pairs):.2f}x",
        f"{min(p.ratio for p in pairs):.2f}x",
        str(sum(p.ratio >= 2 for p in pairs)),
        f"{sum(p.arm['seconds'] for p in pairs):.1f}",
        *(_times(x) for x in less),
        *(f"{median:.0f} / {p95:.0f}" for median, p95 in times),
    ]


def _sample(results: Record) -> list[str]:
    e = results["experiment"]
    pairs = figures.pairs(results["queries"], "spark", "springbok")
    return [
        f"{len(pairs)} of {e['suite']}, scale {e['scale']:g}",
        e["layout"],
        e.get("format", "DuckDB's Parquet"),
        results["versions"]["spark"],
        str(e["runs"]),
        f"{figures.geomean(pairs):.2f}x",
        *(_times(figures.less(pairs, metric)) for metric in ("cpu_s", "bytes_read")),
        _losses(pairs, {})[1],
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
    equal = f"{len(queries)} queries, all answers equal."
    parts = [f"Answers differ: {', '.join(different)}." if different else equal]
    if tied:
        parts.append(f"{tied} queries returned other rows of those that tie at their LIMIT; without it they are equal.")
    if failed:
        parts.append(f"Failed: {', '.join(failed)}.")
    return " ".join(parts)


def _gains(pairs: list[Pair]) -> str:
    ranked = sorted((p for p in pairs if p.ratio > 1), key=lambda p: -p.ratio)
    return ", ".join(f"{p.query} {p.ratio:.2f}x" for p in ranked[:_MOST_GAINS]) or "none"


def _losses(pairs: list[Pair], again: dict[str, float]) -> list[str]:
    """How many queries lost, and which; in brackets the ratio of their runs in `again`."""
    lost = sorted((p for p in pairs if p.ratio < LOSS), key=lambda p: p.ratio)
    more = {q: f" ({ratio:.2f}x)" for q, ratio in again.items()}
    return [str(len(lost)), ", ".join(f"{p.query} {p.ratio:.2f}x{more.get(p.query, '')}" for p in lost) or "none"]
