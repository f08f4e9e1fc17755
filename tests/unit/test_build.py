from __future__ import annotations

from pathlib import Path

import pytest
import sbt


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


def test_a_missing_maven_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sbt, "ROOT", tmp_path)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "build.properties").write_text("sbt.version=0.0.0\n")
    with pytest.raises(sbt.BuildError, match="Neither sbt nor Maven"):
        sbt.launcher()


def test_the_version_is_in_one_place() -> None:
    version = (sbt.ROOT / "VERSION").read_text().strip()
    import springbok

    assert springbok.__version__ == version
    assert Path(springbok.jar_path()).name.endswith(f"-{version}.jar")
    assert Path(springbok.jar_path()).stat().st_size > 100_000
