"""What a plan must not have: the conditions of `Report.check`, for tests and builds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from springbok.errors import SpringbokError
from springbok.model import Join, ReportData
from springbok.settings import size_bytes

# Spark allocates a hash relation in pages of up to this many bytes, however few rows it has.
_PAGE = 64 << 20

Check = Callable[[ReportData, Any], Iterable[str]]


def violations(r: ReportData, conditions: dict[str, Any]) -> list[str]:
    """A sentence for each violation of these conditions.

    Raises:
        SpringbokError: there is no such condition, or its value cannot be read.
    """
    check_names(conditions)
    return [text for name, value in conditions.items() if value is not False for text in CONDITIONS[name](r, value)]


def check_names(conditions: Iterable[str]) -> None:
    """Raise a SpringbokError if there is no condition of a name."""
    unknown = sorted(set(conditions) - CONDITIONS.keys())
    if unknown:
        raise SpringbokError(f"There is no condition {unknown[0]!r}: choose among {', '.join(CONDITIONS)}.")


def _max_broadcast(r: ReportData, most: Any) -> Iterator[str]:
    limit = _bytes("max_broadcast", most)
    for j in (j for j in r.joins if j.strategy in ("broadcast hash", "broadcast nested loop")):
        known = _broadcast_bytes(j)
        if known is None:
            yield f"{j} broadcasts its {j.build} side, whose size is unknown."
        elif known > limit:
            yield "{} broadcasts {}, more than {}.".format(j, *_apart(size, known, limit))


def _max_memory(r: ReportData, most: Any) -> Iterator[str]:
    limit, known = _bytes("max_memory", most), r.resources.join_memory_per_executor_bytes
    if known is None:
        yield "It is unknown how much of an executor the joins may take."
    elif known > limit:
        yield "The joins may take {} of an executor, more than {}.".format(*_apart(size, known, limit))


def _max_q_error(r: ReportData, most: Any) -> Iterator[str]:
    limit = _number("max_q_error", most)
    if r.state != "executed":
        raise SpringbokError("max_q_error needs a run: use report(df) after df.collect(), or --run.")
    for j in r.joins:
        if j.q_error is not None and j.q_error > limit:
            factors = _apart(lambda n, digits: f"{n:,.{digits}f}x", j.q_error, limit)
            yield "{} has an estimate that is off by {}, more than {}.".format(j, *factors)


def _no(strategy: str, what: str) -> Check:
    return lambda r, _: (f"{j} is {what}." for j in r.joins if j.strategy == strategy)


def _no_missing_statistics(r: ReportData, _: Any) -> Iterator[str]:
    if names := {t.name or "?" for t in r.tables if t.rows is None}:
        yield f"Tables without statistics: {', '.join(sorted(names))}."
    if columns := {f"{t.name or '?'}.{c}" for t in r.tables for c in t.missing_statistics if t.rows is not None}:
        yield f"Join columns without statistics: {', '.join(sorted(columns))}."


CONDITIONS: dict[str, Check] = {
    "max_broadcast": _max_broadcast,
    "max_memory": _max_memory,
    "max_q_error": _max_q_error,
    "no_cartesian": _no("cartesian", "a cartesian product"),
    "no_nested_loop": _no("broadcast nested loop", "a nested-loop join"),
    "no_sort_merge": _no("sort-merge", "a sort-merge join"),
    "no_missing_statistics": _no_missing_statistics,
    "hints_followed": lambda r, _: (
        f"{j} does not follow the hint {j.hint}." for j in r.joins if j.hint_honoured is False
    ),
    "no_failures": lambda r, _: (f"The rule {f['rule']} failed with {f['error']}." for f in r.failures),
}


def _broadcast_bytes(j: Join) -> float | None:
    """Bytes of the side that a join broadcasts, None if they are unknown.

    Of a hash relation, Spark counts whole pages. The first page says nothing of the rows, so their number and width do.
    """
    side = j.left if j.build == "left" else j.right
    seen = side.observed_bytes
    if seen is None:
        return side.bound_bytes or side.estimated_bytes
    width = side.row_bytes
    if width is None and side.estimated_rows and side.estimated_bytes is not None:
        width = side.estimated_bytes / side.estimated_rows
    if j.strategy != "broadcast hash" or seen >= 2 * _PAGE or side.observed_rows is None or width is None:
        return seen
    return min(seen, side.observed_rows * width)


def size(n: float, digits: int = 1) -> str:
    """A number of bytes: 12 B, 3.4 MB."""
    power = min(5, (max(1, int(n)).bit_length() - 1) // 10)
    return f"{n / 1024**power:.{digits if power else digits - 1}f} {('B', 'KB', 'MB', 'GB', 'TB', 'PB')[power]}"


def _apart(show: Callable[[float, int], str], a: float, b: float) -> tuple[str, str]:
    """Two numbers that a sentence compares, with as many more digits as tell them apart."""
    digits = next((d for d in range(1, 5) if show(a, d) != show(b, d)), 1)
    return show(a, digits), show(b, digits)


def _bytes(name: str, value: Any) -> int:
    found = size_bytes(str(value))
    if found is None:
        raise SpringbokError(f"{name} cannot be {value!r}: it takes a size such as 1g or 1536m.")
    return found


def _number(name: str, value: Any) -> float:
    try:
        # A condition without a value is true, which Python takes for 1.
        return float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError) as e:
        raise SpringbokError(f"{name} cannot be {value!r}: it takes a number.") from e
