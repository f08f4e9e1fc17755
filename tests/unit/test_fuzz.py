"""The fuzzer's own parts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from qa.fuzz import changes
from qa.fuzz.data import Table, tables, write
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


def test_files_change_and_stay_readable(tmp_path: Path) -> None:
    for seed in range(6):
        for t in tables(random.Random(seed)):
            r = random.Random(seed)
            path = write(t, tmp_path / str(seed), r)
            for kind in r.sample(changes.FILE_CHANGES, len(changes.FILE_CHANGES)):
                changes.in_files(kind, t, path, r)
                assert changes.contents(t, path).column_names == [n for n, _ in t.columns], kind


@pytest.fixture
def table(tmp_path: Path) -> tuple[Table, Path]:
    t = next(t for t in tables(random.Random(1)) if t.arrow.num_rows > 100)
    return t, write(t, tmp_path, random.Random(1))


def test_a_file_is_replaced_and_looks_the_same(table: tuple[Table, Path]) -> None:
    t, path = table
    before = {f: (f.stat().st_size, f.stat().st_mtime_ns) for f in path.iterdir()}
    changes.in_files("in place", t, path, random.Random(2))
    assert {f: (f.stat().st_size, f.stat().st_mtime_ns) for f in path.iterdir()} == before
    found = changes.contents(t, path)
    assert 0 < found.num_rows < t.arrow.num_rows


def test_rows_come_and_go(table: tuple[Table, Path]) -> None:
    t, path = table
    changes.in_files("delete", t, path, random.Random(2))
    fewer = changes.contents(t, path).num_rows
    assert 0 < fewer < t.arrow.num_rows
    changes.in_files("append", t, path, random.Random(3))
    assert changes.contents(t, path).num_rows > fewer
