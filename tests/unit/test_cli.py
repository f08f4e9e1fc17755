"""Commands that need no session: one sentence on standard error, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
import springbok
from springbok.cli import doctor, explain, main


@pytest.mark.parametrize(
    ("sql", "data", "said"),
    [
        ("no.sql", ".", "cannot be read"),
        ("empty.sql", ".", "no query"),
        ("q.sql", "none", "is no folder"),
        ("q.sql", "empty", "holds no table"),
    ],
)
def test_what_explain_cannot_read_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sql: str, data: str, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.sql").write_text(" ;\n")
    (tmp_path / "q.sql").write_text("SELECT 1")
    assert main.main(["explain", "--sql", str(tmp_path / sql), "--data", str(tmp_path / data)]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_tables_of_a_folder(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.csv", "notes.txt", "c.d.json"):
        (tmp_path / name).touch()
    (tmp_path / "e").mkdir()
    (tmp_path / "_temporary").mkdir()
    assert sorted(explain._tables(tmp_path)) == ["a", "b", "c.d", "e"]


def test_the_doctor_fails_without_java_or_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such/folder")

    def no_jar() -> str:
        raise springbok.SpringbokError("carries no jar")

    monkeypatch.setattr(doctor, "jar_path", no_jar)
    said: list[str] = []
    assert doctor.run(said.append) == 1
    assert sum(line.startswith("failed") for line in said) == 2 and "cannot work here" in said[-1]
