"""The files of a shared history."""

from __future__ import annotations

import json
import os
import stat
import zlib
from pathlib import Path

import pytest
from springbok import history
from springbok.cli import main

KEY = "0123456789abcdef" * 2


def line(**values: object) -> str:
    text = json.dumps({"v": 1, "key": KEY, "runs": 1, "last": 1764000000000, **values}, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x} {text}"


def rows(n: int, **values: object) -> str:
    return line(rows=n, inputs=[[2, 2048, KEY]], **values)


def write(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("".join(f"{text}\n" for text in lines))


def test_the_latest_entry_of_a_key_counts(tmp_path: Path) -> None:
    write(tmp_path, "history-aa-0.jsonl", rows(5, last=10, label="Filter of t"), line(selectivity=0.5))
    write(tmp_path, "history-bb-0.jsonl", rows(6, last=20, runs=2))
    write(tmp_path, "other.jsonl", rows(7, last=30))
    found = history.read(tmp_path)
    assert [(e.rows, e.selectivity, e.runs) for e in found.entries] == [(None, 0.5, 1), (6, None, 2)]
    assert found.ignored == 0 and len(found.files) == 2 and found.entries[1].input_bytes == 2048


def test_the_line_that_the_jvm_writes(tmp_path: Path) -> None:
    # The same line stands in SharedHistorySuite.
    text = (
        '1f6abab4 {"v":1,"rows":120,"key":"00000000000000010000000000000002","runs":3,"last":1764000000000,'
        '"inputs":[[2,1024,"00000000000000030000000000000004"]],"label":"Filter of t"}'
    )
    write(tmp_path, "history-aa-0.jsonl", text)
    (e,) = history.read(tmp_path).entries
    assert (e.rows, e.runs, e.last_ms, e.input_bytes, e.label) == (120, 3, 1764000000000, 1024, "Filter of t")


@pytest.mark.parametrize(
    "bad",
    [
        rows(5).replace('"rows":5', '"rows":6'),
        rows(5)[:-3],
        rows(-5),
        rows(5, v=2),
        rows(5, key="x"),
        rows(5, runs=True),
        line(selectivity=0.0),
        rows(5, last=1 << 62),
        rows(5, runs=0),
        line(rows=5, inputs={}),
        "hello",
        f"{zlib.crc32(b'[]'):08x} []",
        f"{zlib.crc32(b'[' * 9000):08x} " + "[" * 9000,
        rows(5, label="x" * 20000),
    ],
)
def test_what_is_no_entry_is_left_out(tmp_path: Path, bad: str) -> None:
    write(tmp_path, "history-aa-0.jsonl", bad, rows(1, key="f" * 32))
    found = history.read(tmp_path)
    assert [e.rows for e in found.entries] == [1] and found.ignored == 1


def test_foreign_files_are_no_entries(tmp_path: Path) -> None:
    write(tmp_path, "history-aa-0.jsonl", rows(1))
    (tmp_path / "history-bb-0.jsonl").write_bytes(b"x" * 200_000 + b"\n" + rows(2, last=1764000000001).encode())
    (tmp_path / "history-cc-0.jsonl").symlink_to("/dev/zero")
    (tmp_path / "history-dd-0.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "history-ee-0.jsonl")
    found = history.read(tmp_path)
    assert [e.rows for e in found.entries] == [2] and found.ignored == 4 and len(found.files) == 1


def test_pruning_keeps_the_latest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o750)
    for i in range(5):
        write(tmp_path, f"history-a{i}-0.jsonl", rows(i, key=f"{i:032x}", last=i))
    before = history.read(tmp_path)
    assert main.main(["history", "prune", "--path", str(tmp_path), "--keep", "2"]) == 0
    assert capsys.readouterr().out == "2 of 5 entries are left\n"
    after = history.read(tmp_path)
    assert after.entries == before.entries[:2] and len(after.files) == 1
    assert stat.S_IMODE(after.files[0].stat().st_mode) == 0o640
    assert main.main(["history", "prune", "--path", str(tmp_path), "--days", "1"]) == 0
    assert not list(tmp_path.iterdir())


def test_pruning_leaves_what_it_cannot_read(tmp_path: Path) -> None:
    write(tmp_path, "history-aa-0.jsonl", rows(1, last=1), rows(1, v=2))
    write(tmp_path, "history-bb-0.jsonl", rows(2, last=2))
    history.prune(tmp_path, since_ms=3)
    assert [f.name for f in tmp_path.iterdir()] == ["history-aa-0.jsonl"]


@pytest.mark.parametrize("option", [("prune", "--keep", "-1"), ("prune", "--days", "-1"), ("show", "--limit", "x")])
def test_wrong_numbers_are_said_so(tmp_path: Path, option: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        main.main(["history", *option, "--path", str(tmp_path)])


def test_show_and_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "history-aa-0.jsonl", rows(1200, label="Filter of t\x1b[31m\nwhere k = 3"), "no entry")
    assert main.main(["history", "show", "--path", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out == "2025-11-24 16:00  1,200 rows of 2.0 KB, 1 run: Filter of t?[31m?where k = 3\n"
    assert err == "1 lines are no entries of this version\n"
    assert main.main(["history", "export", "--path", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 1200


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["history", "show", "--path", str(tmp_path / "none")]) == 2
    err = capsys.readouterr().err
    assert "is no local folder" in err and err.count("\n") == 1
