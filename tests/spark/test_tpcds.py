"""TPC-DS, all queries: answers without and with Springbok, and reports as their schema says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import springbok
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from springbok.comparison import answer
from springbok.reports import Report

from benchmarks.suites import spark_tests, without_limit


def outcome(df: DataFrame) -> Any:
    """The rows, or the class of the error: at this scale one query divides by zero, as it has to."""
    try:
        return answer(df.collect())
    except PySparkException as error:
        return error.getCondition()


@pytest.mark.slow
def test_answers_and_reports(
    tpcds: SparkSession, valid: Callable[[Report], None], explained: Callable[[DataFrame], None]
) -> None:
    different, joins, filters = [], 0, 0
    for name, sql in spark_tests.texts("tpcds").items():
        planned = springbok.report(tpcds.sql(sql))
        valid(planned)
        assert planned.state == "planned" and not planned.failures, name
        # Rows that tie at a last LIMIT are anyone's choice.
        whole = without_limit(sql) or sql
        with springbok.disabled(tpcds):
            off = outcome(tpcds.sql(whole))
        df = tpcds.sql(whole)
        explained(df)
        if outcome(df) != off:
            different.append(name)
        executed = springbok.report(df)
        valid(executed)
        if executed.state == "executed":
            explained(df)
        assert executed.state == ("planned" if isinstance(off, str) else "executed") and not executed.failures, name
        assert str(executed) and executed.text(verbose=True) and executed._repr_html_(), name
        joins += len(executed.joins)
        filters += sum(f.status == "used" for f in executed.filters)
    assert not different
    assert joins > 500 and filters > 50
