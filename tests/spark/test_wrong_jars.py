"""No jar, or one for another Spark: a warning, Spark's own plans, no error. Of the jars that were built."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from springbok import jar
from springbok.session import EXTENSION

WRONG = [p for p in sorted(jar.FOLDER.glob("*.jar")) if p != jar.find(jar.installed())]

SCRIPT = f"""
import sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.jars", sys.argv[1])
    .config("spark.sql.extensions", "{EXTENSION}").getOrCreate()
)
df = spark.sql("SELECT count(*) AS n FROM range(1000) a JOIN range(10) b ON a.id = b.id WHERE b.id > 3")
df.explain("formatted")
print("answer", df.head()[0])
spark.sql("EXPLAIN EXTENDED SELECT 1").show()
"""

INSTALL = (Path(__file__).parents[2] / "docs" / "use" / "install.md").read_text(encoding="utf-8")
KEY = re.compile(r"^(?:.*--conf )?(spark\.sql\.[\w.]+)(?:=| +)([\w.,]+)", re.MULTILINE)
# What the page tells to set, but for the jar: a job that passes its own `--jars` has none.
DOCUMENTED = {tuple(dict(KEY.findall(b)).items()): None for b in re.findall(r"```\w*\n(.*?)```", INSTALL, re.DOTALL)}

WITHOUT = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for setting in sys.argv[1:]:
    builder = builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
df = spark.range(100).join(spark.range(10), "id")
df.explain("formatted")
spark.sql("CREATE TABLE t USING parquet AS SELECT a.id FROM range(9) a JOIN range(5) b ON a.id = b.id")
print("answers", df.count(), spark.table("t").count())
"""


@pytest.mark.parametrize("wrong", WRONG, ids=lambda p: p.name)
def test_stays_off(wrong: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(wrong)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0 and "answer 6" in done.stdout, done.stderr
    assert done.stderr.count("it stays off, and Spark plans alone") == 1, done.stderr
    assert "Error" not in done.stderr.replace("ErrorHandler", ""), done.stderr


# `spark.sql.extendedExplainProviders` was documented as a setting of the cluster. Each query failed where it was set
# and the class was missing.
@pytest.mark.parametrize("settings", [s for s in DOCUMENTED if s], ids=lambda s: "-".join(k for k, _ in s))
def test_documented_settings_without_the_jar(settings: tuple[tuple[str, str], ...], tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, *(f"{k}={v}" for k, v in settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0 and "answers 10 5" in done.stdout, done.stderr[-3000:]
