"""The two charts of the results page; their colours are readable on a light and on a dark background."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.errors import SpringbokError

from benchmarks.page.figures import Gain, Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRAY, _GREEN, _BLUE, _RED = "#767e87", "#2da44e", "#4493f8", "#e5534b"


def summary(gains: list[Gain], target: Path) -> None:
    """One bar for each suite and baseline: the gain of `springbok` in geometric mean."""
    figure, axes = _axes(7.2, 0.75 * len(gains) + 1.3)
    for offset, color, label, values in (
        (0.19, _GREEN, "against Spark's defaults", [g.spark for g in gains]),
        (-0.19, _BLUE, "against Spark tuned by hand", [g.tuned for g in gains]),
    ):
        measured = [(-i + offset, v) for i, v in enumerate(values) if v is not None]
        bars = axes.barh([y for y, _ in measured], [v for _, v in measured], height=0.34, color=color, label=label)
        axes.bar_label(bars, fmt="%.2fx", padding=4, color=_GRAY)
    axes.axvline(1, color=_GRAY, linewidth=1, linestyle="--")
    axes.set_yticks([-i for i in range(len(gains))], [g.label for g in gains])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter("{x:g}x")
    axes.margins(x=0.12)
    axes.set_xlabel("times faster with Springbok: geometric mean, scale 10, 2 cores")
    axes.legend(frameon=False, labelcolor=_GRAY, loc="lower right")
    _save(figure, target)


def scatter(ratios: list[Pair], labels: tuple[str, str], target: Path) -> None:
    """The seconds of each query in two arms; the arm is faster below the diagonal."""
    figure, axes = _axes(5, 5)
    seconds = [(p.base["seconds"], p.arm["seconds"]) for p in ratios]
    low, high = (edge(s for pair in seconds for s in pair) for edge in (min, max))
    axes.plot([low, high], [low, high], color=_GRAY, linewidth=1, linestyle="--")
    colors = [_GREEN if arm <= base else _RED for base, arm in seconds]
    axes.scatter([base for base, _ in seconds], [arm for _, arm in seconds], c=colors, s=16, alpha=0.8, linewidths=0)
    axes.set(xscale="log", yscale="log", aspect="equal")
    axes.set(xlabel=f"seconds, {labels[0]}", ylabel=f"seconds, {labels[1]}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    _save(figure, target)


def _axes(width: float, height: float) -> tuple[Figure, Axes]:
    try:
        import matplotlib
    except ImportError as e:
        raise SpringbokError("The charts need matplotlib: pip install -e '.[demo,bench]'.") from e
    from matplotlib.figure import Figure

    # Text stays text, and the same figures give the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "springbok", "font.family": "sans-serif"})
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.tick_params(which="both", colors=_GRAY)
    axes.xaxis.label.set_color(_GRAY)
    axes.yaxis.label.set_color(_GRAY)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_GRAY)
    return figure, axes


def _save(figure: Figure, target: Path) -> None:
    metadata: dict[str, Any] = {"Date": None, "Creator": None}
    figure.savefig(target, format="svg", transparent=True, metadata=metadata)
