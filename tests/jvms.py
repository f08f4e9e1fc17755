"""JVM options of the tests. Most JVMs run for seconds, mostly to load and compile the classes of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from processes import HOME

# Optimized code would cost more time than it saves. Without it, frames of the stack are larger, so Spark's analyzer
# overflows it on queries that it passes otherwise, and the JVM reserves only 48 MB for code, which one session fills.
_SHORT = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -Xss4m"
# The JVM goes on without the archive, and says nothing, if it does not suit it.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
_CACHE = Path(__file__).parent.parent / ".cache"
_SESSION = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.range(9).selectExpr("id", "string(id) AS s").write.parquet(sys.argv[1])
a, b = (spark.read.parquet(sys.argv[1]).alias(name) for name in "ab")
a.join(b, "id").groupBy("b.s").count().orderBy("s").collect()
"""


def set_options() -> None:
    """Sets the options of the JVMs that tests start.

    A session starts in half of the time with the classes of another one, which are archived once for each PySpark.
    """
    archive = _CACHE / f"spark-{pyspark.__version__}.jsa"
    if not archive.exists() or archive.stat().st_mtime < (HOME / "jars").stat().st_mtime:
        _make(archive)
    for variable in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
        os.environ.setdefault(variable, f"{_SHORT} {_QUIET} -XX:SharedArchiveFile={archive}")


def _make(archive: Path) -> None:
    archive.parent.mkdir(exist_ok=True)
    archive.unlink(missing_ok=True)
    env = os.environ | {"SPARK_SUBMIT_OPTS": f"{_SHORT} {_QUIET} -XX:ArchiveClassesAtExit={archive}"}
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _SESSION, str(Path(folder) / "table")]
        subprocess.run(command, env=env, check=True, capture_output=True)
