"""The parts of the results page that come from one JSON file each, as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.page import figures
from benchmarks.page.figures import LOSS, Gain, Pair, Record

_MOST_NAMED = 10


def study(results: Record) -> str:
    """The table of a study."""
    return _joined(f"`{results['command']}`", results.get("note", ""), table(*results["table"]))


def suite(results: Record) -> str:
    """How a suite was run, the arms against the first of them, gains and losses, and notes."""
    queries, arms = results["queries"], list(results["arms"])
    base = arms[0]
    measured = {arm: figures.pairs(queries, base, arm) for arm in arms}
    overview = table(
        [f"against `{base}`", "queries", "geomean", "lowest", "total s", "CPU", "read", "shuffled", "≥ 2x",
         f"< {LOSS}x", "planning ms", "rules ms"],
        *(_overview(arm, pairs) for arm, pairs in measured.items()),
    )  # fmt: skip
    ranked = table(
        ["arm", "largest gains", f"losses (below {LOSS}x)"],
        *([f"`{arm}`", _gains(pairs), _losses(pairs)] for arm, pairs in measured.items() if arm != base and pairs),
    )
    orders = _orders(queries, arms) if results["experiment"]["suite"] == "joinorder" else ""
    used = _utilisation(measured, results["machine"]["cores"])
    return _joined(_setting(results), overview, _answers(queries), orders, ranked, used, results.get("note", ""))


def queries(results: Record) -> str:
    """The queries that ran in all arms: seconds, ratios, and what the filters of the last arm did."""
    arms = list(results["arms"])
    bases, last = arms[:-1], arms[-1]
    head = ["query", *(f"`{a}` s" for a in arms), *(f"against `{a}`" for a in bases), "filters used", "rows removed"]
    rows = []
    for q in results["queries"]:
        times = {a: figures["seconds"] for a, figures in q["arms"].items() if "seconds" in figures}
        if times.keys() != set(arms):
            continue
        ratios = [f"{times[a] / times[last]:.2f}x" for a in bases]
        effect = [f"{q['arms'][last][key]:,}" for key in ("filters_used", "rows_removed")]
        rows.append([q["query"], *(f"{s:.1f}" for s in times.values()), *ratios, *effect])
    return table(head, *rows)


def gains(found: list[Gain]) -> str:
    """The summary of all suites."""
    rows = [[g.label, *(f"{v:.2f}x" if v else "-" for v in (g.spark, g.tuned))] for g in found]
    return table(["suite", "against `spark`", "against `tuned`"], *rows)


def table(head: list[Any], *rows: list[Any]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(str(c) for c in cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def _joined(*parts: str) -> str:
    return "\n\n".join(p for p in parts if p)


def _setting(results: Record) -> str:
    e, machine, versions = results["experiment"], results["machine"], results["versions"]
    runs = "1 timed run" if e["runs"] == 1 else f"{e['runs']} timed runs"
    warmups = {0: "without a warm-up", 1: "after 1 warm-up"}.get(e["warmups"], f"after {e['warmups']} warm-ups")
    return (
        f"`{results['command']}`\n\n{runs} of each query in each arm {warmups}; {machine['master']} on "
        f"{machine['cores']} cores ({machine['architecture']}), driver heap {machine['driver_memory']}; "
        f"Spark {versions['spark']}, Springbok {versions['springbok']}."
    )


def _overview(arm: str, pairs: list[Pair]) -> list[str]:
    if not pairs:
        return [f"`{arm}`", "0", *["-"] * 10]
    less = [figures.less(pairs, metric) for metric in ("cpu_s", "bytes_read", "shuffle_bytes")]
    times = [figures.median_and_p95(pairs, metric) for metric in ("planning_ms", "rules_ms")]
    return [
        f"`{arm}`",
        str(len(pairs)),
        f"{figures.geomean(pairs):.2f}x",
        f"{min(p.ratio for p in pairs):.2f}x",
        f"{sum(p.arm['seconds'] for p in pairs):.1f}",
        *(_times(x) for x in less),
        str(sum(p.ratio >= 2 for p in pairs)),
        str(sum(p.ratio < LOSS for p in pairs)),
        *(f"{median:.0f} / {p95:.0f}" for median, p95 in times),
    ]


def _utilisation(measured: dict[str, list[Pair]], cores: int) -> str:
    """Where the time of the cores went; empty for results that do not tell."""
    told = {arm: pairs for arm, pairs in measured.items() if pairs and all("run_s" in p.arm for p in pairs)}
    if not told:
        return ""
    head = [
        "time of all cores",
        "on the CPU",
        "in tasks, waiting",
        "in stages, idle",
        "no stage ran",
        "JIT",
        "waited for filters",
    ]
    return table(head, *(_cores(arm, [p.arm for p in pairs], cores) for arm, pairs in told.items()))


def _cores(arm: str, runs: list[Record], cores: int) -> list[str]:
    """Fractions of the time of all cores. The JVM's compilers use the cores as well, mostly while others are idle."""
    total = sum(r["seconds"] for r in runs) * cores
    cpu, ran = (sum(r[key] for r in runs) for key in ("cpu_s", "run_s"))
    driver = sum(r["driver_ms"] for r in runs) / 1e3 * cores
    jit, waited = (sum(r[key] for r in runs) / 1e3 for key in ("jit_ms", "waited_ms"))
    parts = (cpu, ran - cpu, max(0.0, total - ran - driver), driver, jit, waited)
    return [f"`{arm}`", *(f"{part / total:.0%}" for part in parts)]


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.2f}x" if ratio < 100 else f"{ratio:,.0f}x"


def _answers(queries: list[Record]) -> str:
    different = [q["query"] for q in queries if q["answers"] == "DIFFERENT"]
    failed = [q["query"] for q in queries if any("error" in a for a in q["arms"].values())]
    tied = sum(q["answers"] == "tied" for q in queries)
    parts = [f"Answers differ: {', '.join(different)}." if different else "All answers are equal."]
    if tied:
        parts.append(f"{tied} queries returned other rows of those that tie at their LIMIT; without it they are equal.")
    if failed:
        parts.append(f"Failed: {', '.join(failed)}.")
    return " ".join(parts)


def _gains(pairs: list[Pair]) -> str:
    ranked = sorted((p for p in pairs if p.ratio > 1), key=lambda p: -p.ratio)
    return _named(ranked[:_MOST_NAMED])


def _losses(pairs: list[Pair]) -> str:
    return _named(sorted((p for p in pairs if p.ratio < LOSS), key=lambda p: p.ratio))


def _named(pairs: list[Pair]) -> str:
    return ", ".join(f"{p.query} {p.ratio:.2f}x" for p in pairs) or "none"


def _orders(queries: list[Record], arms: list[str]) -> str:
    """How much the order in which a query's joins are written matters."""
    slowest = {arm: figures.slowest_order(queries, arm) for arm in arms}
    names = list(dict.fromkeys(q for ratios in slowest.values() for q in ratios))
    rows = [[f"`{arm}`", *(f"{ratios[q]:.2f}x" if q in ratios else "-" for q in names)]
            for arm, ratios in slowest.items()]  # fmt: skip
    return "Time of the slowest join order of a query against the fastest:\n\n" + table(["arm", *names], *rows)
