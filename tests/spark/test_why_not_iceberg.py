"""`why_not` on tables of Iceberg that are stored by transforms, in a session of their own with Iceberg's catalog."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import lake
import pyspark
import pytest

LINE = ".".join(pyspark.__version__.split(".")[:2])

JOB = """
import json, sys
import springbok
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
for key, value in json.loads(sys.argv[1]).items():
    builder = builder.config(key, value)
spark = springbok.configure(builder, planning_budget=0, join_broadcastBytesLimit=0).getOrCreate()
spark.sql("CREATE NAMESPACE lake.db")
for name, buckets in (("few", 4), ("many", 8), ("same", 8)):
    spark.sql(f"CREATE TABLE lake.db.{name} (k BIGINT, v BIGINT) USING iceberg PARTITIONED BY (bucket({buckets}, k))")
    spark.sql(f"INSERT INTO lake.db.{name} SELECT id, id % 7 FROM range(20000)")
def ask(left, right, what, table=None):
    df = spark.sql(f"SELECT count(*) FROM lake.db.{left} a JOIN lake.db.{right} b ON a.k = b.k WHERE b.v = 3")
    df.collect()
    return springbok.why_not(df, what, table)
print("ANSWERS", json.dumps([
    ask("few", "many", "colocate"),
    ask("many", "same", "colocate"),
    ask("few", "many", "broadcast"),
    ask("few", "many", "filter", "lake.db.few"),
]))
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.skipif(LINE not in ("3.5", "4.0", "4.1"), reason="Iceberg has no release for this Spark")
def test_tables_that_are_stored_by_transforms(tmp_path: Path) -> None:
    own = {
        "spark.sql.extensions": lake.EXTENSIONS["iceberg"],
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.sources.v2.bucketing.enabled": "true",
        "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
        "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    }
    settings = lake.settings("iceberg", LINE, str(tmp_path / "lake")) | own
    job = tmp_path / "job.py"
    job.write_text(JOB, encoding="utf-8")
    command = [sys.executable, str(job), json.dumps(settings)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    answers = [line for line in run.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert answers, run.stderr[-3000:]
    different, same, broadcast, filtered = json.loads(answers[0].removeprefix("ANSWERS "))
    assert "lake.db.few" in different and "lake.db.many" in different and "bucket(4, k)" in different
    assert "bucket(8, k)" in different
    assert same == "It has: every join is colocate."
    assert "not a broadcast hash join because" in broadcast
    assert "on lake.db.few" in filtered
