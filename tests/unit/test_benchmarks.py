"""The benchmarks' own parts that can be wrong without anyone noticing: texts, join orders, losses, the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from springbok.errors import SpringbokError

from benchmarks import page, suites
from benchmarks.__main__ import main
from benchmarks.harness import check
from benchmarks.harness.results import save
from benchmarks.studies import STUDIES, posting
from benchmarks.suites import joinorder


def results(**seconds: tuple[float, float]) -> dict[str, Any]:
    """Results of queries with their seconds in `spark` and `springbok`."""
    names = ("planning_ms", "rules_ms", "cpu_s", "bytes_read", "shuffle_bytes")
    figures = dict.fromkeys((*names, "filters_placed", "filters_used", "rows_removed"), 1.0)

    def arm(s: float) -> dict[str, Any]:
        return figures | {"seconds": s, "runs": [s * 0.99, s, s * 1.01]}

    return {
        "experiment": {"suite": "tpch", "scale": 1, "layout": "plain", "runs": 3, "warmups": 1},
        "command": "python -m benchmarks run tpch",
        "machine": {"master": "local[2]", "cores": 2, "architecture": "any", "driver_memory": "2g"},
        "versions": {"spark": "4.2.0", "springbok": "0.1.0"},
        "arms": {"spark": {}, "springbok": {}},
        "queries": [
            {"query": q, "answers": "equal", "rows": 1, "arms": {"spark": arm(s), "springbok": arm(b)}}
            for q, (s, b) in seconds.items()
        ],
    }


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert [name for name in ("run", *STUDIES, "page") if name not in text] == []


def test_a_loss_beyond_noise_is_found() -> None:
    old = results(q1=(2, 1), q2=(2, 1), q3=(2, 1), q4=(0.02, 0.01))
    # q1 as before on a machine half as fast; q2 within noise; q3 lost; q4 lost next to no time.
    new = results(q1=(4, 2), q2=(2, 1.08), q3=(2, 1.6), q4=(0.02, 0.02))
    assert [(x.query, x.before, x.after) for x in check.losses(old, new)] == [("q3", 2.0, 1.25)]


def test_a_query_that_failed_is_no_loss() -> None:
    new = results(q1=(2, 2))
    new["queries"][0]["arms"]["springbok"] = {"error": "it failed"}
    assert check.losses(results(q1=(2, 1)), new) == []


def test_results_of_other_queries_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    save(path, results(q1=(1, 1), q2=(2, 2)), keep=False)
    save(path, results(q2=(4, 4), q3=(3, 3)), keep=True)
    found = {q["query"]: q["arms"]["spark"]["seconds"] for q in json.loads(path.read_text())["queries"]}
    assert found == {"q1": 1, "q2": 4, "q3": 3}


def test_the_page_names_gains_and_losses(tmp_path: Path) -> None:
    save(tmp_path / "tpch-sf1-plain.json", results(q1=(4, 1), q2=(1, 2)), keep=False)
    text = page.write(tmp_path).read_text()
    assert "Against `spark`: largest gains q1 4.00x; 1 of 2 queries below 0.97x: q2 0.50x." in text
    assert not list(tmp_path.glob("*.svg"))


def test_the_charts_are_those_of_the_summary_and_of_tpcds(tmp_path: Path) -> None:
    for name in ("tpch-sf10-plain-parquet", "tpcds-sf10-clustered-parquet"):
        save(tmp_path / f"{name}.json", results(q1=(4, 1), q2=(1, 1)), keep=False)
    text = page.write(tmp_path).read_text()
    assert "| TPC-H | 2.00x | - |" in text
    charts = {p.name: p.read_text() for p in tmp_path.glob("*.svg")}
    assert charts.keys() == {"summary.svg", "tpcds-sf10-clustered-parquet.svg"}
    page.write(tmp_path)
    assert charts == {p.name: p.read_text() for p in tmp_path.glob("*.svg")}


def test_the_committed_page_and_charts_are_those_of_the_committed_figures(tmp_path: Path) -> None:
    folder = Path(page.__file__).parents[1] / "results"
    for path in folder.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    page.write(tmp_path)
    assert {p.name for p in folder.iterdir()} == {p.name for p in tmp_path.iterdir()}
    assert (tmp_path / "README.md").read_text() == (folder / "README.md").read_text()
    shown = set(re.findall(r"\((\S+\.svg)\)", (folder / "README.md").read_text()))
    assert shown == {p.name for p in folder.glob("*.svg")}


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


def test_passes_are_compared_within_their_round() -> None:
    # The machine became half as fast between the rounds; q1 takes 10% more in the second arm.
    base = [{"q1": 1.0, "q2": 1.0, "": 2.0}, {"q1": 2.0, "q2": 2.0, "": 4.0}]
    more = [{"q1": 1.1, "q2": 1.0, "": 2.1}, {"q1": 2.2, "q2": 2.0, "": 4.2}]
    _, first, second = posting.table({"off": base, "on": more})
    assert first == ["off", "3.00", "1.000x", "1.000x", "1.000x", "0.0", "0.0"]
    assert second == ["on", "3.15", "1.050x", "1.050x", "1.050x", "75.0", "150.0"]
