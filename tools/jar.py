"""Builds jars into the Python package, each unless the one there is newer than all of its sources.

Its arguments name lines: 4.1, 3.5_2.12, all. Without any it builds the line that the repository's tests run on.
`--sbt COMMAND...` runs sbt's commands on that line, and takes the jar from there if `package` is one of them;
`--each COMMAND...` runs them on every line.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import lines
import pyspark_jars
import sbt

FOLDER = sbt.ROOT / "python" / "springbok" / "jars"
_SOURCES = ("jvm/src/main", "build.sbt", "project/build.properties", "VERSION", "LICENSE", "NOTICE")
_PATTERNS = ("project/*.sbt", "project/*.scala")
_CORE = re.compile(r"spark-core_(\d+\.\d+)-(\d+\.\d+)\..*\.jar")


def build(names: Sequence[str] = ("current",)) -> list[Path]:
    """The paths of these lines' jars in the package; those that are out of date are built.

    Raises:
        sbt.BuildError: there is no such line, the machine lacks a JDK, or sbt failed.
    """
    try:
        wanted = lines.chosen(list(names))
    except KeyError as e:
        known = ", ".join(li.label for li in lines.every())
        raise sbt.BuildError(f"There is no Spark line {e}: choose among {known}, current and all.") from e
    version = (sbt.ROOT / "VERSION").read_text().strip()
    own = {li.jar(version) for li in lines.every()}
    for other in FOLDER.glob("*.jar"):  # another version's, or of a line that is gone
        if other.name not in own:
            other.unlink()
    newest = _newest()
    return [_built(line, FOLDER / line.jar(version), newest) for line in wanted]


def _built(line: lines.Line, jar: Path, newest: float) -> Path:
    if jar.exists() and jar.stat().st_mtime >= newest:
        return jar
    if run(line, ["-Dtests=false", "package"]) != 0:
        raise sbt.BuildError(f"sbt could not build the jar for Spark {line.name}; its output above says why.")
    return jar


def line_there() -> str:
    """The line of SPARK_HOME, else of the installed PySpark; the current one if Springbok is not built for it."""
    # An isolated build cannot import PySpark, but knows the folder of the packages.
    home = os.environ.get("SPARK_HOME") or Path(sysconfig.get_path("purelib"), "pyspark")
    cores = filter(None, (_CORE.fullmatch(p.name) for p in Path(home, "jars").glob("spark-core_*")))
    labels = [f"{m[2]}_{m[1]}" for m in cores]
    return next((li.label for li in lines.every() if li.label in labels), "current")


def run(line: lines.Line, commands: Sequence[str]) -> int:
    """Run sbt on a line and return its exit code; if `package` is among the commands, take the jar it made."""
    if line.unmanaged:
        pyspark_jars.fetch(line.spark, sbt.ROOT / line.unmanaged)
    code = sbt.run([f"-Dspark={line.name}", f"-Dscala={line.scala}", *commands])
    made = line.target / line.jar((sbt.ROOT / "VERSION").read_text().strip())
    if "package" in commands and made.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        # Not in place: a JVM may have the old one open.
        part = FOLDER / f"{made.name}.part"
        shutil.copy(made, part)
        part.replace(FOLDER / made.name)
    return code


def _newest() -> float:
    paths = [sbt.ROOT / s for s in _SOURCES] + [p for pattern in _PATTERNS for p in sbt.ROOT.glob(pattern)]
    return max(f.stat().st_mtime for p in paths for f in ([p] if p.is_file() else p.rglob("*")) if f.is_file())


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["--sbt"]:
            sys.exit(run(lines.chosen(["current"])[0], sys.argv[2:]))
        if sys.argv[1:2] == ["--each"]:
            sys.exit(any(run(line, sys.argv[2:]) for line in lines.every()))
        print(*build(sys.argv[1:] or ["current"]), sep="\n")
    except sbt.BuildError as e:
        sys.exit(f"springbok build: {e}")
