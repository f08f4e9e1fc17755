"""Comparing recorded decisions: what counts as a difference."""

from __future__ import annotations

from pathlib import Path

import pytest
from qa import text_diff


def written(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "q1.txt").write_text(text, encoding="utf-8")
    return folder


def test_renames_are_no_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(tmp_path / "a", "#### plan\nOldScan x#1\n#### report\na.kept = 2\nb.gone = 1\nc.rows = 3\n")
    new = written(tmp_path / "b", "#### plan\nNewScan x#1\n#### report\nc.rows = 3\nd.retained = 2\ne.more = 4\n")
    renames = tmp_path / "renames.txt"
    renames.write_text(
        "# a comment\nOldScan -> NewScan\nre: ^a\\.kept -> d.retained\ngone: ^b\\.gone\nnew: ^e\\.\n", encoding="utf-8"
    )
    assert text_diff.compare(old, new, text_diff.Renames.read(renames), []) == 0
    assert text_diff.compare(old, new, text_diff.Renames(), []) == 1
    out = capsys.readouterr().out
    assert "-OldScan x#1\n+NewScan x#1" in out and "DIFFERENT q1.txt: 6 lines" in out


def test_what_differs_from_run_to_run_is_free(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = written(tmp_path / "a", "#### plan\nJoin x#1\nScan x#1\n#### report\na = 1\nb = 2\n")
    again = written(tmp_path / "again", "#### plan\nSortedJoin x#1\nScan x#1\n#### report\na = 1\nb = 3\n")
    b = written(tmp_path / "b", "#### plan\nJoin x#1\nScan x#1\n#### report\na = 1\nb = 4\n")
    assert text_diff.compare(a, b, text_diff.Renames(), [again]) == 0
    assert "unstable from run to run: q1.txt: plan, report" in capsys.readouterr().out
    c = written(tmp_path / "c", "#### plan\nJoin x#1\nOtherScan x#1\n#### report\na = 2\nb = 2\n")
    assert text_diff.compare(a, c, text_diff.Renames(), [again]) == 1
    out = capsys.readouterr().out
    assert "-Scan x#" in out and "-a = 1" in out and "-b" not in out
