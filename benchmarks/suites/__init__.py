"""The suites: which queries there are, and their texts."""

from __future__ import annotations

import re

from springbok import tpch
from springbok.errors import SpringbokError

from benchmarks.suites import joinorder, multihop, spark_tests, useless

SUITES = ("tpch", "tpcds", "ssb", "joinorder", "useless", "multihop")
# Join orders that are run of each query of the joinorder suite.
ORDERS = 4


def queries(suite: str) -> dict[str, str]:
    """Names and texts of a suite's queries.

    Raises:
        SpringbokError: there is no such suite, or its texts cannot be fetched.
    """
    match suite:
        case "tpch":
            return {name: tpch.query(name) for name in tpch.QUERIES}
        case "tpcds" | "ssb":
            return spark_tests.texts(suite)
        case "useless":
            return useless.QUERIES
        case "multihop":
            return multihop.queries()
        case "joinorder":
            return joinorder.queries(ORDERS)
    raise SpringbokError(f"There is no suite {suite!r}: choose among {', '.join(SUITES)}.")


def chosen(suite: str, text: str) -> dict[str, str]:
    """The queries of `all`, of a list of names as in `q3,q14a`, or of a range of positions as in `1-15`.

    Raises:
        SpringbokError: the suite does not have such a query.
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
    """The query without its last LIMIT, None if it has none: any of the rows that tie at a LIMIT may be returned."""
    cut = re.sub(r"\blimit\s+\d+\s*;?\s*$", "", sql.strip(), flags=re.IGNORECASE)
    return cut if cut != sql.strip() else None


def for_duckdb(sql: str) -> str:
    """A Spark query in DuckDB's dialect: other quotes, and two names of TPC-DS that are DuckDB's reserved words."""
    return re.sub(r"\b(returns|at)\b", r'"\1"', sql).replace("`", '"')
