"""Homes of Spark and folders of jars that hold nothing but names."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import FakeHome
from springbok import jar

LABELS = ("3.5_2.12", "3.5_2.13", "4.0_2.13", "4.1_2.13", "4.2_2.13", "4.3_2.13")


@pytest.fixture
def fake_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeHome:
    """Makes a home of Spark, and PySpark use it."""

    def make(scala: str, version: str) -> Path:
        home = tmp_path / "home"
        (home / "jars").mkdir(parents=True)
        for name in (f"spark-core_{scala}-{version}.jar", f"spark-core_{scala}-{version}-tests.jar", "other-1.0.jar"):
            (home / "jars" / name).touch()
        monkeypatch.setenv("SPARK_HOME", str(home))
        return home

    return make


@pytest.fixture
def fake_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a jar of each line, from which the package chooses."""
    folder = tmp_path / "jars"
    folder.mkdir()
    for label in LABELS:
        (folder / f"springbok-spark-{label}-0.1.0.jar").touch()
    monkeypatch.setattr(jar, "FOLDER", folder)
    return folder
