"""The suites: which queries there are, and their texts."""

from __future__ import annotations

import re

from springbok import tpch
from springbok.errors import SpringbokError

from benchmarks import joinorder, micro, sparktests

SUITES = ("tpch", "tpcds", "ssb", "joinorder", "useless", "multihop")
# How many join orders of each query of the joinorder suite are run.
ORDERS = 4


def queries(suite: str) -> dict[str, str]:
    """Names and texts of a suite's queries.

    Raises:
        SpringbokError: there is no such suite, or its texts cannot be fetched.
    """
    if suite == "tpch":
        return {name: tpch.query(name) for name in tpch.QUERIES}
    if suite in ("tpcds", "ssb"):
        return sparktests.texts(suite)
    if suite == "useless":
        return micro.USELESS
    if suite == "multihop":
        return micro.multihop()
    if suite == "joinorder":
        return {
            f"{name}-{i}": q.sql(order)
            for name, q in joinorder.QUERIES.items()
            for i, order in enumerate(q.orders(ORDERS), 1)
        }
    raise SpringbokError(f"There is no suite {suite!r}: choose among {', '.join(SUITES)}.")


def chosen(suite: str, text: str) -> dict[str, str]:
    """The queries of `all`, of a list of names as in `q3,q14a`, or of a range of positions as in `1-15`.

    Raises:
        SpringbokError: a query that the suite does not have.
    """
    found = queries(suite)
    if text == "all":
        return found
    if m := re.fullmatch(r"(\d+)-(\d+)", text):
        return dict(list(found.items())[int(m.group(1)) - 1 : int(m.group(2))])
    names = [n.strip() for n in text.split(",") if n.strip()]
    unknown = [n for n in names if n not in found]
    if unknown or not names:
        raise SpringbokError(f"{suite} has no query {', '.join(unknown) or text!r}.")
    return {n: found[n] for n in names}


def without_limit(sql: str) -> str | None:
    """The query without the LIMIT at its end, None if it has none: rows that tie at a limit are anyone's choice."""
    cut = re.sub(r"\blimit\s+\d+\s*;?\s*$", "", sql.strip(), flags=re.IGNORECASE)
    return cut if cut != sql.strip() else None
