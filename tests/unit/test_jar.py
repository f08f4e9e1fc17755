"""Which jar is chosen, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
import springbok
from fakes import FakeHome
from pyspark.sql import SparkSession
from springbok import jar, session
from springbok.__main__ import main


def name(label: str) -> str:
    return f"springbok-spark-{label}-0.1.0.jar"


@pytest.mark.parametrize(
    ("scala", "version", "label"),
    [
        ("2.12", "3.5.9", "3.5_2.12"),
        ("2.13", "3.5.1", "3.5_2.13"),
        ("2.12", "3.5.6-amzn-1", "3.5_2.12"),
        ("2.12", "3.5.2.3.1.20240801-1", "3.5_2.12"),
        ("2.13", "4.0.0-SNAPSHOT", "4.0_2.13"),
        ("2.13", "4.1.4", "4.1_2.13"),
        ("2.13", "4.3.0", "4.3_2.13"),
    ],
)
def test_the_home_of_spark_chooses_the_jar(
    fake_home: FakeHome, fake_jars: Path, scala: str, version: str, label: str
) -> None:
    home = fake_home(scala, version)
    assert jar.installed() == jar.Spark(version, scala, str(home))
    assert springbok.jar_path() == str(fake_jars / name(label))


def test_the_version_of_pyspark_chooses_where_a_home_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake_jars: Path
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    assert springbok.jar_path() == str(fake_jars / name("3.5_2.12"))


@pytest.mark.parametrize(
    ("spark", "scala", "label"),
    [
        ("3.5", None, "3.5_2.12"),
        ("3.5", "2.13", "3.5_2.13"),
        ("3.5.6-amzn-1", "2.12", "3.5_2.12"),
        ("4.1", None, "4.1_2.13"),
        (None, "2.13", "4.2_2.13"),
    ],
)
def test_another_spark_can_be_asked_for(
    fake_home: FakeHome, fake_jars: Path, spark: str | None, scala: str | None, label: str
) -> None:
    fake_home("2.13", "4.2.1")
    assert springbok.jar_path(spark, scala) == str(fake_jars / name(label))


def test_the_scala_of_the_own_spark_counts_where_none_is_asked_for(fake_home: FakeHome, fake_jars: Path) -> None:
    fake_home("2.13", "3.5.9")
    assert springbok.jar_path("3.5") == str(fake_jars / name("3.5_2.13"))


@pytest.mark.parametrize("options", [["--spark", "3.4"], ["--spark", "4.2", "--scala", "2.12"], ["--spark", "four"]])
def test_the_command_names_the_lines_that_there_are(
    fake_jars: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert main(["jar", *options]) == 2
    err = capsys.readouterr().err
    assert "no jar for Spark " + options[1] in err and err.count("\n") == 1
    assert "Spark 3.5 (Scala 2.12 and 2.13), 4.0 (Scala 2.13)" in err and "and 4.3 (Scala 2.13).\n" in err


def test_the_command_prints_a_path(fake_jars: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jar", "--spark", "3.5", "--scala", "2.12"]) == 0
    assert capsys.readouterr().out == f"{fake_jars / name('3.5_2.12')}\n"


def test_configure_leaves_a_spark_without_a_jar_alone(
    monkeypatch: pytest.MonkeyPatch, fake_home: FakeHome, fake_jars: Path
) -> None:
    monkeypatch.setattr(session, "_launched", lambda: None)
    fake_home("2.13", "4.4.0")
    builder = SparkSession.Builder()
    with pytest.warns(UserWarning, match=r"no jar for Spark 4\.4\.0 \(Scala 2\.13\): .*; Spark plans alone\.$") as said:
        assert springbok.configure(builder) is builder
    assert len(said) == 1 and said[0].filename == __file__
    assert builder._options == {}


def test_an_installation_without_jars_says_so(monkeypatch: pytest.MonkeyPatch, fake_jars: Path, tmp_path: Path) -> None:
    monkeypatch.setattr(jar, "FOLDER", tmp_path / "none")
    with pytest.raises(springbok.SpringbokError, match="carries no jar"):
        springbok.jar_path()


# The provider of EXPLAIN's section was set too: Spark fails each query of a session that has it and no jar.
@pytest.mark.parametrize("version", ["3.5.9", "4.0.4", "4.3.0"])
def test_configure_sets_the_jar_and_the_extension_alone(
    monkeypatch: pytest.MonkeyPatch, fake_home: FakeHome, fake_jars: Path, version: str
) -> None:
    monkeypatch.setattr(session, "_launched", lambda: None)
    monkeypatch.setattr(session, "_check_running", lambda jvm, path: None)
    fake_home("2.13", version)
    options = springbok.configure(SparkSession.Builder())._options
    assert options["spark.jars"].endswith(name(f"{version[:3]}_2.13"))
    assert set(options) == {"spark.jars", "spark.sql.extensions"}
