"""Statistics that lie by a factor of hundreds, and a driver with little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys
import springbok
from pyspark.sql import SparkSession

folder = sys.argv[1]
builder = springbok.configure(SparkSession.builder, planning_budget=0).master("local[2]")
builder = builder.config("spark.driver.memory", "512m")
spark = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
# A few more keys than rows by their range, as of a primary key; a tenth of the rows have one of them.
for name in ("a", "b"):
    keys = f"if(id < 2000, 7, id + 100) AS k, id AS {name}, concat('padding of a row ', id) AS {name}p"
    spark.sql(f"SELECT {keys} FROM range(20000)").repartition(2).write.parquet(f"{folder}/{name}")
spark.range(0, 300000, 1, 2).selectExpr("id AS a", "id AS v").write.parquet(f"{folder}/f")
for name in "abf":
    spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
df = spark.sql(
    "SELECT count(*), sum(v), max(ap), max(bp) FROM f JOIN (SELECT a, ap, bp FROM a JOIN b ON a.k = b.k) d ON f.a = d.a"
)
rows = [list(r) for r in df.collect()]
joins = [[j.strategy, j.estimated_rows] for j in springbok.report(df).joins]
print(json.dumps({"rows": rows, "joins": joins}))
"""


def test_a_build_side_hundreds_of_times_its_estimate_is_no_broadcast(tmp_path: Path) -> None:
    # The driver once ran out of memory here, where Spark alone sorts and merges.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert answers, done.stderr[-3000:]
    # Each of the 2,000 rows of one key with each of those of the other table, and 18,000 other keys.
    assert answers[0]["rows"][0][0] == 2000 * 2000 + 18000
