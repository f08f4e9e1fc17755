"""Why a query has another strategy, another distribution or no such filter, in one sentence.

The package is not called `why_not`: in `springbok` that name is the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from springbok.errors import SpringbokError
from springbok.explanations import distributions, filters, strategies
from springbok.explanations.question import Question
from springbok.model import ReportData
from springbok.reports import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from springbok.explanations.question import Answer

# What can be asked for, and other names of it.
_WORDS = {
    "colocate": "colocate",
    "bucket shuffle": "bucket shuffle",
    "broadcast": "broadcast",
    "broadcast hash": "broadcast",
    "hash": "hash",
    "shuffled hash": "hash",
    "merge": "merge",
    "sort merge": "merge",
    "nested loop": "nested loop",
    "broadcast nested loop": "nested loop",
    "cartesian": "cartesian",
    "filter": "filter",
    "in": "in",
    "min max": "min-max",
    "minmax": "min-max",
    "bloom": "bloom",
    "bitmap": "bitmap",
    "late": "late",
}
_ANSWERS: dict[str, Callable[[Question], Answer]] = {
    **distributions.ANSWERS,
    **strategies.ANSWERS,
    **filters.ANSWERS,
}


def why_not(df: DataFrame | ReportData, what: str, table: str | None = None) -> str:
    """Why a join is not executed in this way, or why there is no such runtime filter.

    The answer is one sentence with numbers. A second one says what would make it possible, if anything would.

    Args:
        df: a DataFrame, or its report.
        what: a distribution ("colocate", "bucket shuffle"), a strategy ("broadcast", "hash", "merge", "nested loop",
            "cartesian"), a filter ("filter", "in", "min-max", "bloom", "bitmap"), or a filter that is "late": its scan
            starts without it.
        table: only joins with keys of this table, or filters on its scan. A name that two tables have needs the
            database, as in "sales.orders".

    Raises:
        SpringbokError: an unknown word or table, a name that two tables have; see also `report`.
    """
    word = _WORDS.get(" ".join(what.lower().replace("_", " ").replace("-", " ").split()))
    if word is None:
        allowed = ", ".join(dict.fromkeys(_WORDS.values()))
        raise SpringbokError(f"{what!r} is neither a distribution, nor a strategy, nor a filter: ask for {allowed}.")
    r = df if isinstance(df, ReportData) else report(df)
    return str(_ANSWERS[word](Question.about(r, table)))
