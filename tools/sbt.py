"""Runs sbt from the PATH, or a launcher that is fetched once.

The Makefile and the wheel's build hook use it, so it needs only Python's standard library. If the JDK is missing or of
a wrong version, the command ends with one sentence that says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import maven

ROOT = Path(__file__).resolve().parent.parent
JAVA_VERSIONS = (17, 21)


class BuildError(Exception):
    """The machine lacks something that the build needs; the message says what to do."""


def java() -> str:
    """The java executable of JAVA_HOME or of the PATH.

    Raises:
        BuildError: it is missing or of a wrong version.
    """
    home = os.environ.get("JAVA_HOME")
    exe = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not exe or not Path(exe).exists():
        raise BuildError("No JDK found: install JDK 17 and put it on the PATH, or point JAVA_HOME at it.")
    text = subprocess.run([exe, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', text)
    major = int(found.group(1)) if found else 0
    if major not in JAVA_VERSIONS:
        raise BuildError(f"{exe} is Java {major or 'of an unknown version'}: Spark 4 needs JDK 17 (or 21).")
    javac = Path(exe).resolve().with_name("javac")
    if not javac.exists():
        raise BuildError(f"{exe} is a JRE without a compiler: install the whole JDK 17.")
    return exe


def sbt_version() -> str:
    """The sbt version that project/build.properties pins."""
    return (ROOT / "project" / "build.properties").read_text().split("=", 1)[1].strip()


def launcher() -> Path:
    """The sbt launcher's jar, fetched once into .cache."""
    try:
        return maven.jar("org.scala-sbt", "sbt-launch", sbt_version(), ROOT / ".cache")
    except maven.FetchError as e:
        raise BuildError(f"sbt is not on the PATH. {e}") from e


def command(args: list[str]) -> list[str]:
    """The command line that runs sbt with these arguments."""
    exe = java()
    if sbt := shutil.which("sbt"):
        return [sbt, "--batch", *args]
    # sbt runs for minutes, and optimized code would cost more time than it saves.
    jvm = ["-Xmx2g", "-Xss8m", "-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1"]
    options = ["-Dsbt.supershell=false", "-Dsbt.color=false", "-Dsbt.server.autostart=false"]
    return [exe, *jvm, *options, "-jar", str(launcher()), *args]


def run(args: list[str]) -> int:
    """Run sbt in the repository's root and return its exit code."""
    return subprocess.run(command(args), cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except BuildError as e:
        sys.exit(f"springbok build: {e}")
