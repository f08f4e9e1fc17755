"""A few seeds of the fuzzer, and its own parts; `make fuzz SEEDS=…` runs more."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

from fuzz.data import tables
from fuzz.queries import Generator
from fuzz.tree import Many, Node, Opt, minimize, render


def test_random_queries_answer_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--seeds", "1-2", "--queries", "8", "--runs", "2"],
        capture_output=True, text=True, cwd=Path(__file__).parent, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"'on': \d\d", done.stdout), done.stdout


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
