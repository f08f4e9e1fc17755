"""Builds the jar into the Python package, unless the jar there is newer than all of its sources."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sbt

FOLDER = sbt.ROOT / "python" / "springbok" / "jars"
_SOURCES = (
    "jvm/src/main",
    "build.sbt",
    "project/build.properties",
    "project/plugins.sbt",
    "project/SparkLines.scala",
    "VERSION",
)


def build() -> Path:
    """The path of the package's jar, which is built if it is out of date.

    Raises:
        sbt.BuildError: the machine lacks a JDK or Maven, or sbt failed.
    """
    present = sorted(FOLDER.glob("*.jar"))
    if len(present) == 1 and present[0].stat().st_mtime >= _newest():
        return present[0]
    if sbt.run(["package"]) != 0:
        raise sbt.BuildError("sbt could not build the jar; its output above says why.")
    built = sorted((sbt.ROOT / "jvm" / "target" / "jar").glob("*.jar"), key=lambda p: p.stat().st_mtime)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    return Path(shutil.copy(built[-1], FOLDER / built[-1].name))


def _newest() -> float:
    paths = [sbt.ROOT / s for s in _SOURCES]
    return max(f.stat().st_mtime for p in paths for f in ([p] if p.is_file() else p.rglob("*")) if f.is_file())


if __name__ == "__main__":
    try:
        print(build())
    except sbt.BuildError as e:
        sys.exit(f"springbok build: {e}")
