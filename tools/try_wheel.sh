#!/usr/bin/env bash
# Installs a wheel in a clean environment outside of the repository and runs queries with it: in a session of its own and by spark-submit.
#   tools/try_wheel.sh [FOLDER] [PYSPARK ...]
# FOLDER holds the wheel (default: dist). For each version of PySpark, such as 3.5.9, there is an environment; without any, the extra chooses.
set -euo pipefail
unset SPARK_HOME
tools=$(cd "$(dirname "$0")" && pwd)
folder=$tools/../dist
if [ -d "${1:-}" ]; then folder=$1; shift; fi
wheel=$(cd "$folder" && ls -t "$PWD"/springbok-*.whl | head -n 1)
python=${PYTHON:-python3}
tries=$(mktemp -d)
trap 'rm -rf "$tries"' EXIT
cd "$tries"

contents() {
  "$python" -m zipfile -l "$wheel" | awk 'NR > 1 {print $1}'
}

jars() {
  contents | sed -n 's|^springbok/jars/springbok-spark-\(.*\)-[^-]*\.jar$|\1|p' | sort
}

try() {
  echo "== PySpark ${1:-of the extra}"
  rm -rf env tables
  "$python" -m venv env
  env/bin/pip install -q --disable-pip-version-check "$wheel"
  env/bin/springbok --version
  # It ends with an error, as it must.
  local said
  said=$(env/bin/springbok jar 2>&1 || true)
  grep 'PySpark is not installed: pip install' <<<"$said" || { echo "without PySpark, the fix must be named"; return 1; }
  local spark=${1:+pyspark==$1}
  env/bin/pip install -q --disable-pip-version-check "${spark:-$wheel[spark]}"
  env/bin/springbok doctor
  env/bin/python "$tools/try_job.py" session tables 2>session.log || { tail -n 50 session.log; return 1; }
  local home
  home=$(env/bin/python -c 'from pyspark.find_spark_home import _find_spark_home as h; print(h())')
  PYSPARK_PYTHON=$PWD/env/bin/python "$home/bin/spark-submit" --master 'local[2]' --jars "$(env/bin/python -m springbok jar)" \
    --conf spark.sql.extensions=org.apache.spark.sql.springbok.SpringbokExtensions --conf spark.ui.enabled=false \
    --conf spark.springbok.planning.budget=0 --conf spark.springbok.runtimeFilter.minBenefitMs=0 \
    "$tools/try_job.py" submit tables 2>submit.log || { tail -n 50 submit.log; return 1; }
}

diff <(jars) <("$python" "$tools/lines.py" | cut -d ' ' -f 1 | sort) || { echo "the wheel must hold one jar for each Spark line"; exit 1; }
other=$(contents | grep -v -E '^springbok/|^springbok-[0-9.]+\.dist-info/' || true)
test "$(contents | grep -c -E '/(LICENSE|NOTICE)$')" = 2 || { echo "the wheel must hold LICENSE and NOTICE"; exit 1; }
relative=$("$python" -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.read(next(n for n in z.namelist() if n.endswith("/METADATA"))).decode())' "$wheel" |
  grep -oE '(\]\(|src(set)?=")[^)"]*' | grep -v https: || true)
test -z "$relative" || { echo "the links of the README must be absolute on PyPI: $relative"; exit 1; }
test -z "$other" || { echo "the wheel must hold nothing but springbok: $other"; exit 1; }
for version in "${@:-}"; do
  try "$version"
done
