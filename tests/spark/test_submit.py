"""spark-submit, from outside, on other masters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
import springbok
from springbok.jar import Spark
from springbok.tpch import query

JOB = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
for t in ("customer", "orders", "lineitem"):
    spark.read.parquet(f"{sys.argv[1]}/{t}.parquet").createOrReplaceTempView(t)
sql = open(sys.argv[2]).read()
# One scan in several tasks, so that partial summaries are merged.
spark.conf.set("spark.sql.files.maxPartitionBytes", "200k")
spark.conf.set("spark.springbok.planning.budget", "0")
spark.conf.set("spark.springbok.runtimeFilter.minBenefitMs", "0")
spark.conf.set("spark.springbok.runtimeFilter.inLimit", "10")
spark.conf.set("spark.springbok.join.broadcastBytesLimit", "0")
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
df = spark.sql(sql)
on = df.collect()
import springbok
used = [f.target_table for f in springbok.report(df).filters if f.status == "used"]
section = "== Extended Information (Springbok) ==" in spark.sql("EXPLAIN " + sql).head()[0]
spark.conf.set("spark.springbok.enabled", "false")
off = spark.sql(sql).collect()
print("RESULT", on == off and len(on) == 10, sorted(used), section)
spark.stop()
"""


@pytest.mark.parametrize("master", ["local[2]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.slow)])
def test_spark_submit(master: str, tpch: Path, tmp_path: Path) -> None:
    """The command of install.md, on one JVM and on executors of their own."""
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "q3.sql").write_text(query("q3"))
    home = Path(pyspark.__file__).parent
    command = [
        str(home / "bin" / "spark-submit"),
        "--master", master,
        "--jars", springbok.jar_path(),
        "--conf", f"spark.sql.extensions={springbok.session.EXTENSION}",
        "--conf", "spark.ui.enabled=false",
        # The first tasks of new executors are slow.
        "--conf", "spark.springbok.runtimeFilter.maxIdle=10min",
        "job.py", str(tpch), "q3.sql",
    ]  # fmt: skip
    env = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=300)
    result = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    section = Spark(pyspark.__version__).explains
    assert result == [f"RESULT True ['lineitem', 'orders'] {section}"], (done.stdout[-500:], done.stderr[-3000:])
