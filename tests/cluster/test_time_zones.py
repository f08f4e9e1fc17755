"""Executors in another time zone than the driver find the days of a runtime filter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

pytestmark = pytest.mark.slow
# A day's midnight in Berlin is the day before in UTC, where the reader once looked for it.
SCRIPT = """
import json, sys
import springbok
from pyspark.sql import SparkSession
from springbok import disabled, report

folder = sys.argv[1]
builder = springbok.configure(
    SparkSession.builder, runtimeFilter_minBenefitMs=0, runtimeFilter_wait="ALWAYS", planning_budget=0
)
spark = (
    builder.master("local-cluster[1,2,1024]")
    .config("spark.driver.memory", "1g")
    .config("spark.driver.extraJavaOptions", "-Duser.timezone=Europe/Berlin")
    .config("spark.executor.extraJavaOptions", "-Duser.timezone=UTC -Dspringbok.testing=true")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
days = "date_add(DATE'2020-01-01', CAST(id AS INT)) AS d"
spark.range(0, 12, 1, 12).selectExpr(days, "id AS v").write.parquet(f"{folder}/fact")
spark.range(12).selectExpr(days, "id AS g").write.parquet(f"{folder}/dim")
for name in ("fact", "dim"):
    spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
found = []
for on, keys in (("f.d = m.d", "g IN (5)"), ("f.d = m.d", "g IN (1, 9)"), ("f.d <= m.d", "g IN (5)")):
    sql = f"SELECT /*+ MERGE(m), RUNTIME_FILTER(m) */ f.v FROM fact f JOIN dim m ON {on} WHERE {keys}"
    df = spark.sql(sql)
    rows = sorted(r[0] for r in df.collect())
    with disabled(spark):
        expected = sorted(r[0] for r in spark.sql(sql).collect())
    skipped = [f.row_groups_removed for f in report(df).filters if f.status == "used"]
    found.append([rows, expected, skipped])
print(json.dumps(found))
spark.stop()
"""


def test_no_day_is_lost(tmp_path: Path) -> None:
    env = os.environ | {"SPARK_HOME": str(Path(pyspark.__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path, env=env, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert lines, done.stderr[-3000:]
    for rows, expected, skipped in json.loads(lines[-1]):
        assert rows == expected
        # Ranges are wider by three days.
        assert skipped and all(n and n > 0 for n in skipped)
