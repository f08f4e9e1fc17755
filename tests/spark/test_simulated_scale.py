"""The limits of plans at a scale and on a cluster that no test has, and the tables that simulate them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks import suites
from benchmarks.studies import simulated_scale
from benchmarks.studies.simulated_tables import ROWS

_TABLES = ("store_sales", "item", "date_dim", "store", "customer", "customer_address", "household_demographics")


def test_plans_for_a_thousand_executors(tpcds: SparkSession, tmp_path: Path) -> None:
    base = Path(tpcds.table("store_sales").inputFiles()[0].removeprefix("file://")).parent
    # A session without the views of the small tables, which have the same names.
    spark = tpcds.newSession()
    simulated_scale.tables(spark, base, tmp_path, 1_000, _TABLES)
    queries = suites.chosen("tpcds", "q3,q19,q42,q68,q79")
    plans = simulated_scale.planned(spark, queries, 1_000, 1_000)
    assert [f"{q}: {v}" for q, p in plans.items() for v in simulated_scale.violations(p)] == []
    rows = {t.name: t.rows for p in plans.values() for t in p.report.tables}
    for table in _TABLES:
        found = rows[table]
        assert found is not None, table
        assert abs(found / ROWS[table][1] - 1) < 0.05, table
    assert any(p.merges for p in plans.values())
    assert max(m.tasks for p in plans.values() for m in p.merges) >= 500
