"""The fuzzer's own parts."""

from __future__ import annotations

import random

from qa.fuzz.data import tables
from qa.fuzz.queries import Generator
from qa.fuzz.tree import Many, Node, Opt, minimize, render


def test_a_seed_gives_the_same_queries() -> None:
    def queries() -> list[str]:
        data = tables(random.Random(7))
        return [Generator(random.Random(n), data).query().sql() for n in range(20)]

    assert queries() == queries()
    assert len(set(queries())) == 20


def test_a_failing_query_is_made_small() -> None:
    tree: Node = ["SELECT * FROM t", Many(" AND ", ["a = 1", "b = 2", "c = 3"], " WHERE ", all=True), Opt(" LIMIT 3")]
    assert render(tree) == "SELECT * FROM t WHERE a = 1 AND b = 2 AND c = 3 LIMIT 3"
    assert minimize(tree, lambda sql: "b = 2" in sql) == "SELECT * FROM t WHERE b = 2"
