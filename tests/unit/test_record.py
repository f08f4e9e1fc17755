"""What a report says of writes, scans, aggregates and late filters is parsed; ReportTextSuite shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from springbok.model import Aggregate, AggregateFunction, Output, Sink
from springbok.reports import Report

RECORD = Path(__file__).parents[1] / "golden" / "q3-executed.json"


@pytest.fixture
def document() -> dict[str, Any]:
    d: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    d["output"] = [
        {"column": "town", "type": "BIGINT", "sources": ["spark_catalog.default.people.town"]},
        {"column": "n", "type": "BIGINT", "sources": []},
    ]
    d["predicate_sources"] = ["spark_catalog.default.people.id"]
    d["sink"] = {
        "mode": "append",
        "table": "spark_catalog.default.sums",
        "format": "parquet",
        "partition_columns": ["n"],
    }
    d["tables"][1] |= {
        "partition_filters": ["(day = 3)"],
        "pushed_filters": [],
        "runtime_filters": ["RF000"],
        "tasks": 8,
    }
    d["fragments"][2]["nodes"][0]["aggregate"] = {
        "phase": "mixed",
        "keys": ["l_orderkey"],
        "functions": [{"function": "sum(x)", "phase": "merge"}, {"function": "count(y)", "phase": "partial"}],
    }
    d["filters"][0] |= {
        "scope": "global",
        "arrived_ms": 1200,
        "tasks_tested": 6,
        "tasks_untested": 2,
    }
    d["resources"] |= {"hosts": 3, "tasks_per_executor": 2, "execution_memory_bytes": 1 << 30}
    return d


def test_it_is_parsed(document: dict[str, Any]) -> None:
    r = Report.from_dict(document)
    assert r.output[0] == Output(column="town", type="BIGINT", sources=("spark_catalog.default.people.town",))
    assert r.sink == Sink(mode="append", table="spark_catalog.default.sums", format="parquet", partition_columns=("n",))
    assert r.predicate_sources == ("spark_catalog.default.people.id",)
    assert (r.tables[1].partition_filters, r.tables[1].runtime_filters, r.tables[1].tasks) == (
        ("(day = 3)",),
        ("RF000",),
        8,
    )
    assert r.fragments[2].nodes[0].aggregate == Aggregate(
        phase="mixed",
        keys=("l_orderkey",),
        functions=(
            AggregateFunction(function="sum(x)", phase="merge"),
            AggregateFunction(function="count(y)", phase="partial"),
        ),
    )
    f = r.filters[0]
    assert (f.scope, f.arrived_ms, f.tasks_tested, f.tasks_untested) == ("global", 1200, 6, 2)
    assert (r.resources.hosts, r.resources.tasks_per_executor, r.resources.execution_memory_bytes) == (3, 2, 1 << 30)


def test_a_report_without_it_is_parsed_as_well() -> None:
    r = Report.from_json(RECORD.read_text(encoding="utf-8"))
    assert r.sink is None and r.output == () and r.filters[0].scope is None and r.tables[0].tasks is None
