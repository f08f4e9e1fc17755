#!/usr/bin/env bash
# Installs the wheel of a folder in a clean environment outside of the repository, and runs a query with it.
set -euo pipefail
wheel=$(cd "$1" && ls -t "$PWD"/springbok-*.whl | head -n 1)
python=${PYTHON:-python3}
tries=$(mktemp -d)
trap 'rm -rf "$tries"' EXIT
cd "$tries"
test "$("$python" -m zipfile -l "$wheel" | grep -c "\.jar ")" = 1 || { echo "the wheel must hold exactly one jar"; exit 1; }
other=$("$python" -m zipfile -l "$wheel" | awk 'NR > 1 {print $1}' | grep -v -E '^springbok/|^springbok-[0-9.]+\.dist-info/' || true)
test -z "$other" || { echo "the wheel must hold nothing but springbok: $other"; exit 1; }
"$python" -m venv env
env/bin/pip install -q --disable-pip-version-check "$wheel"
cat >job.py <<'PY'
import springbok
from pyspark.sql import SparkSession

spark = springbok.configure(SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")).getOrCreate()
spark.range(100000).selectExpr("id % 1000 AS k", "id AS v").write.parquet("facts")
spark.range(1000).selectExpr("id AS k", "id % 100 AS g").write.parquet("dims")
spark.read.parquet("facts").createOrReplaceTempView("facts")
spark.read.parquet("dims").createOrReplaceTempView("dims")
df = spark.sql("SELECT sum(v) AS s, count(*) AS n FROM facts JOIN dims ON facts.k = dims.k WHERE g = 7")
on = df.collect()
report = springbok.report(df)
with springbok.disabled(spark):
    off = spark.sql("SELECT sum(v) AS s, count(*) AS n FROM facts JOIN dims ON facts.k = dims.k WHERE g = 7").collect()
assert on == off and on[0].n == 1000, (on, off)
assert report.joins and report.state == "executed", report
print(f"wheel {springbok.__version__}: the answer is right, {len(report.joins)} join reported")
spark.stop()
PY
env/bin/python job.py 2>/dev/null
