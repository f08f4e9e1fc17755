"""Which Spark will run, and the jar that was made for it."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from springbok.errors import SpringbokError

# How PySpark is asked for in advice: as the extra `spark` in pyproject.toml.
PYSPARK = "pip install 'pyspark>=3.5,<4.3'"
FOLDER = Path(__file__).with_name("jars")
_JAR = re.compile(r"springbok-spark-(\d+\.\d+)_(\d+\.\d+)-.+\.jar")
_CORE = re.compile(r"spark-core_(\d+\.\d+)-(.+)\.jar")


@dataclass(frozen=True)
class Spark:
    """A Spark: its version as it calls itself, such as 3.5.6-amzn-1; its Scala and its home, where they are known."""

    version: str
    scala: str | None = None
    home: str | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version's major and minor, to be compared; empty if it does not start so."""
        found = re.match(r"(\d+)\.(\d+)", self.version)
        return tuple(map(int, found.groups())) if found else ()

    @property
    def line(self) -> str:
        """The same as text; the version itself if it does not start so."""
        return ".".join(map(str, self.numbers)) or self.version

    @property
    def explains(self) -> bool:
        """Whether EXPLAIN takes sections of extensions."""
        return self.numbers >= (4, 0)

    def __str__(self) -> str:
        return f"Spark {self.version}" + (f" (Scala {self.scala})" if self.scala else "")


def installed() -> Spark:
    """The Spark that PySpark starts: the one of SPARK_HOME, else the one in PySpark's package.

    Raises:
        SpringbokError: PySpark is not installed.
    """
    try:
        import pyspark
        from pyspark.find_spark_home import _find_spark_home
    except ImportError as e:
        raise SpringbokError(f"PySpark is not installed: {PYSPARK}.") from e
    home = None
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        home = _find_spark_home()
    names = sorted(p.name for p in (Path(home) / "jars").glob("*.jar")) if home else []
    for found in filter(None, map(_CORE.fullmatch, names)):
        if not found.group(2).endswith(("-tests", "-sources")):
            return Spark(found.group(2), found.group(1), home)
    return Spark(pyspark.__version__, None, home)


def java() -> str | None:
    """The program that starts a JVM, as Spark's scripts find it."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def launched(jvm: Any) -> Spark:
    """The Spark of a JVM that runs already."""
    from py4j.java_gateway import JavaClass

    package = getattr(JavaClass("org.apache.spark.package$", jvm._gateway_client), "MODULE$")
    scala = JavaClass("scala.util.Properties", jvm._gateway_client).versionNumberString()
    return Spark(str(package.SPARK_VERSION()), ".".join(str(scala).split(".")[:2]), os.environ.get("SPARK_HOME"))


def find(spark: Spark) -> Path | None:
    """The jar for a Spark, if there is one. Where the Scala is unknown, the oldest: most of Spark 3.5 is Scala 2.12."""
    return next((p for line, scala, p in _jars() if line == spark.line and spark.scala in (None, scala)), None)


def build() -> str | None:
    """Version and commit of the jars, such as 0.1.0+d5ae6c3; None if there is no jar."""
    for _, _, path in _jars():
        with zipfile.ZipFile(path) as z:
            return z.read("springbok.properties").decode().partition("version=")[2].split()[0]
    return None


def missing(spark: Spark) -> str:
    """Why there is no jar for this Spark, in one sentence without its full stop."""
    if not _jars():
        return "This installation of springbok carries no jar: install the wheel, or run 'make build'"
    by_line = itertools.groupby(_jars(), key=lambda j: j[0])
    *others, last = (f"{line} (Scala {' and '.join(j[1] for j in jars)})" for line, jars in by_line)
    listed = " and ".join(filter(None, (", ".join(others), last)))
    return f"Springbok has no jar for {spark}: it has jars for Spark {listed}"


def jar_path(spark: str | None = None, scala: str | None = None) -> str:
    """Path of the jar for the Spark that PySpark starts, or for another one.

    Args:
        spark: its version, such as "3.5" or "3.5.6-amzn-1".
        scala: its Scala, such as "2.12".

    Raises:
        SpringbokError: there is no jar for it.
    """
    wanted = _wanted(spark, scala)
    found = find(wanted)
    if found is None:
        raise SpringbokError(f"{missing(wanted)}.")
    return str(found)


def _wanted(version: str | None, scala: str | None) -> Spark:
    if version is None:
        own = installed()
        return Spark(own.version, scala or own.scala, own.home)
    if scala is None:
        with contextlib.suppress(SpringbokError):
            own = installed()
            if own.line == Spark(version).line:
                scala = own.scala
    return Spark(version, scala)


def _jars() -> list[tuple[str, str, Path]]:
    """Line, Scala and path of each jar in the package."""
    found = [(m.group(1), m.group(2), p) for p in FOLDER.glob("*.jar") if (m := _JAR.fullmatch(p.name))]
    return sorted(found, key=lambda j: [int(n) for n in f"{j[0]}.{j[1]}".split(".")])
