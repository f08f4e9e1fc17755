"""A jar on a Spark that it was not made for: one sentence, Spark's own plans, no error. Of the jars that were built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from springbok import jar
from springbok.session import EXPLAIN_PROVIDER, EXTENSION

WRONG = [p for p in sorted(jar.FOLDER.glob("*.jar")) if p != jar.find(jar.installed())]

SCRIPT = f"""
import sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.jars", sys.argv[1])
    .config("spark.sql.extensions", "{EXTENSION}")
    .config("spark.sql.extendedExplainProviders", "{EXPLAIN_PROVIDER}").getOrCreate()
)
df = spark.sql("SELECT count(*) AS n FROM range(1000) a JOIN range(10) b ON a.id = b.id WHERE b.id > 3")
df.explain("formatted")
print("answer", df.head()[0])
spark.sql("EXPLAIN EXTENDED SELECT 1").show()
"""


@pytest.mark.parametrize("wrong", WRONG, ids=lambda p: p.name)
def test_stays_off(wrong: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(wrong)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0 and "answer 6" in done.stdout, done.stderr
    assert done.stderr.count("it stays off, and Spark plans alone") == 1, done.stderr
    assert "Error" not in done.stderr.replace("ErrorHandler", ""), done.stderr
