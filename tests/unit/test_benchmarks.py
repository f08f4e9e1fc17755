"""The benchmarks' own parts that can be wrong without anyone noticing: texts, join orders, losses, the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from springbok.errors import SpringbokError

from benchmarks import check, joinorder, page, runner, suites


def results(**seconds: tuple[float, float]) -> dict[str, Any]:
    """Results of queries with their seconds in S and B."""
    figures = dict.fromkeys(
        ("planning_ms", "rules_ms", "cpu_s", "bytes_read", "shuffle_bytes", "filters_placed"), 1.0
    )  # fmt: skip

    def arm(s: float) -> dict[str, Any]:
        return figures | {"seconds": s, "runs": [s * 0.99, s, s * 1.01]}

    return {
        "experiment": {"suite": "tpch", "scale": 1, "layout": "plain", "runs": 3, "warmups": 1},
        "command": "python -m benchmarks run tpch",
        "machine": {"master": "local[2]", "cores": 2, "architecture": "any", "driver_memory": "2g"},
        "versions": {"spark": "4.2.0", "springbok": "0.1.0"},
        "arms": {"S": {}, "B": {}},
        "queries": [
            {"query": q, "answers": "equal", "rows": 1, "arms": {"S": arm(s), "B": arm(b)}}
            for q, (s, b) in seconds.items()
        ],
    }


def test_a_loss_beyond_noise_is_found() -> None:
    old = results(q1=(2, 1), q2=(2, 1), q3=(2, 1), q4=(0.02, 0.01))
    # q1 as before on a machine half as fast; q2 within noise; q3 lost; q4 lost next to no time.
    new = results(q1=(4, 2), q2=(2, 1.08), q3=(2, 1.6), q4=(0.02, 0.02))
    assert [(x.query, x.before, x.after) for x in check.losses(old, new)] == [("q3", 2.0, 1.25)]


def test_a_query_that_failed_is_no_loss() -> None:
    new = results(q1=(2, 2))
    new["queries"][0]["arms"]["B"] = {"error": "it failed"}
    assert check.losses(results(q1=(2, 1)), new) == []


def test_results_of_other_queries_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    runner.save(path, results(q1=(1, 1), q2=(2, 2)), keep=False)
    runner.save(path, results(q2=(4, 4), q3=(3, 3)), keep=True)
    found = {q["query"]: q["arms"]["S"]["seconds"] for q in json.loads(path.read_text())["queries"]}
    assert found == {"q1": 1, "q2": 4, "q3": 3}


def test_the_page_names_gains_and_losses(tmp_path: Path) -> None:
    runner.save(tmp_path / "tpch-sf1-plain.json", results(q1=(4, 1), q2=(1, 2)), keep=False)
    text = page.write(tmp_path).read_text()
    assert "Largest gains of B: q1 4.00x, q2 0.50x." in text
    assert "Losses of B: q2 0.50x." in text
    assert {p.name for p in tmp_path.glob("*.svg")} == {"tpch-sf1-plain-B-bars.svg", "tpch-sf1-plain-B-scatter.svg"}


@pytest.mark.parametrize("name", joinorder.QUERIES)
def test_join_orders_differ_and_have_no_cross_join(name: str) -> None:
    query = joinorder.QUERIES[name]
    orders = query.orders(suites.ORDERS)
    assert len({tuple(o) for o in orders}) == suites.ORDERS
    for order in orders:
        joins = [line for line in query.sql(order).splitlines() if line.startswith("JOIN")]
        assert len(joins) == len(query.aliases) - 1
        assert all(" = " in j for j in joins)
        assert sum(j.count(" = ") for j in joins) == len(query.joins)


def test_chosen_queries() -> None:
    assert list(suites.chosen("tpch", "2-3")) == ["q2", "q3"]
    with pytest.raises(SpringbokError, match="no query"):
        suites.chosen("tpch", "q99")


def test_the_limit_at_the_end_is_cut() -> None:
    assert suites.without_limit("SELECT 1 LIMIT 3\n LIMIT 100 ;") == "SELECT 1 LIMIT 3\n "
    assert suites.without_limit("SELECT 1") is None
