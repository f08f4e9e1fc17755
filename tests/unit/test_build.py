from __future__ import annotations

import os
import tarfile
from pathlib import Path

import jar
import lines
import maven
import pyspark_jars
import pytest
import sbt
import springbok


def test_a_missing_or_wrong_jdk_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(sbt.BuildError, match="No JDK found"):
        sbt.java()
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(sbt.BuildError, match="is Java 11"):
        sbt.java()


def test_a_launcher_that_cannot_be_fetched_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mvn = tmp_path / "mvn"
    mvn.write_text("#!/bin/sh\necho 'no such artifact'\nexit 1\n")
    mvn.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sbt, "ROOT", tmp_path)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "build.properties").write_text("sbt.version=0.0.0\n")
    with pytest.raises(sbt.BuildError, match=r"sbt-launch 0.0.0 could not be fetched .*: no such artifact"):
        sbt.launcher()


def test_without_maven_a_client_in_an_environment_of_its_own_fetches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jgo = tmp_path / "python"
    jgo.write_text('#!/bin/sh\nif [ $1 = -c ]; then touch "$7.jar"; echo "$7.jar"; fi\n')
    jgo.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(maven, "environment", lambda folder: str(jgo))
    fetched = maven.jar("g", "a", "1", tmp_path / "jars", "tests")
    assert fetched == tmp_path / "jars" / "a-1-tests.jar" and list(fetched.parent.iterdir()) == [fetched]


def test_the_version_is_in_one_place() -> None:
    version = (sbt.ROOT / "VERSION").read_text().strip()
    assert springbok.__version__ == version
    assert Path(springbok.jar_path()).name.endswith(f"-{version}.jar")
    assert Path(springbok.jar_path()).stat().st_size > 100_000


def test_the_lines_are_read_from_the_list_of_sbt() -> None:
    text = lines.LIST.read_text()
    found = lines.every()
    assert len(found) == text.count("SparkLine(\n") - 1  # the class itself
    assert len({li.label for li in found}) == len(found)
    assert [li.name for li in found if li.current] == ["4.2"]
    assert [li.unmanaged for li in found if li.unmanaged] == [".cache/spark-4.3.0/jars"]
    assert [li.label for li in lines.chosen(["3.5", "3.5_2.12", "current"])] == ["3.5_2.12", "3.5_2.13", "4.2_2.13"]
    assert lines.chosen(["all"]) == found


def test_the_advice_names_the_extra_which_starts_at_the_oldest_line() -> None:
    project = (sbt.ROOT / "pyproject.toml").read_text()
    oldest = min(tuple(int(n) for n in li.name.split(".")) for li in lines.every())
    # The newest line that has Delta.
    major, minor = max(tuple(int(n) for n in li.name.split(".")) for li in lines.every() if "delta" in li.formats)
    admitted = f"pyspark>={oldest[0]}.{oldest[1]},<{major}.{minor + 1}"
    assert f'spark = ["{admitted}"]' in project
    assert f"pip install '{admitted}'" == springbok.jar.PYSPARK


def test_the_jar_is_built_for_the_spark_that_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert jar.line_there() == "current"
    for name in ("spark-core_2.12-3.5.9-amzn-1.jar", "spark-core_2.12-3.5.9-tests.jar"):
        (tmp_path / "jars" / name).touch()
    assert jar.line_there() == "3.5_2.12"


class Sbt:
    """An sbt that makes empty jars and keeps what it was called with."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def run(self, args: list[str]) -> int:
        self.calls.append(args)
        name, scala = (a.partition("=")[2] for a in args[:2])
        line = next(li for li in lines.every() if (li.name, li.scala) == (name, scala))
        line.target.mkdir(parents=True, exist_ok=True)
        (line.target / line.jar("0.0.7")).touch()
        return 0


@pytest.fixture
def fake_sbt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sbt:
    """A repository of its own, with one source."""
    (tmp_path / "jvm" / "src" / "main").mkdir(parents=True)
    for file in ("jvm/src/main/A.scala", "build.sbt", "VERSION", "LICENSE", "NOTICE", "project/build.properties"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("0.0.7\n")
        os.utime(tmp_path / file, (1, 1))
    made = Sbt()
    monkeypatch.setattr(sbt, "ROOT", tmp_path)
    monkeypatch.setattr(lines, "ROOT", tmp_path)
    monkeypatch.setattr(jar, "FOLDER", tmp_path / "jars")
    monkeypatch.setattr(sbt, "run", made.run)
    monkeypatch.setattr(pyspark_jars, "fetch", lambda version, folder: made.calls.append([version, folder.name]))
    return made


def test_a_jar_is_built_where_it_is_older_than_its_sources(fake_sbt: Sbt, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "springbok-spark-4.2_2.13-0.0.6.jar").touch()
    made = jar.build()
    assert [p.name for p in made] == ["springbok-spark-4.2_2.13-0.0.7.jar"] and jar.build() == made
    assert fake_sbt.calls == [["-Dspark=4.2", "-Dscala=2.13", "-Dtests=false", "package"]]
    assert list((tmp_path / "jars").iterdir()) == made
    os.utime(tmp_path / "jvm/src/main/A.scala", (2**32, 2**32))
    jar.build()
    assert len(fake_sbt.calls) == 2


def test_every_line_is_built_for_a_wheel(fake_sbt: Sbt) -> None:
    made = jar.build(["all"])
    assert [p.name for p in made] == [li.jar("0.0.7") for li in lines.every()] and all(p.exists() for p in made)
    assert fake_sbt.calls[-2:] == [["4.3.0", "jars"], ["-Dspark=4.3", "-Dscala=2.13", "-Dtests=false", "package"]]
    with pytest.raises(sbt.BuildError, match=r"no Spark line '2.4': choose among 3.5_2.12, "):
        jar.build(["2.4"])


def test_the_jars_of_a_source_distribution_are_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "pyspark-9.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("deps/jars/a.jar", "deps/jars/b/c.jar", "deps/jars/readme", "deps/bin/d.jar"):
            tar.addfile(tarfile.TarInfo(f"pyspark-9/{name}"))
    pyspark_jars._unpack(archive, tmp_path / "jars")
    assert [p.name for p in (tmp_path / "jars").iterdir()] == ["a.jar"]
