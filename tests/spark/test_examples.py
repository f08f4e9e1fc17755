"""The README's first report and the examples run as they stand, in a process and a folder of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from springbok.jar import Spark

ROOT = Path(__file__).parents[2]
ENV = os.environ | {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable}


def _run(command: list[str], folder: Path, **env: str) -> str:
    done = subprocess.run(command, cwd=folder, env=ENV | env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, (done.stdout[-1000:], done.stderr[-3000:])
    return done.stdout


def test_the_first_report_shows_a_filter(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    snippet = text.partition("## The first report")[2].partition("```python\n")[2].partition("```")[0]
    out = _run([sys.executable, "-c", snippet], tmp_path)
    assert len(snippet.splitlines()) <= 11 and re.search(r"RF\d+", out), out
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_job_has_a_filter_with_springbok_alone(tmp_path: Path) -> None:
    job = str(ROOT / "examples" / "spark-submit" / "job.py")
    submit = f"{ENV['SPARK_HOME']}/bin/spark-submit --conf spark.ui.enabled=false"
    conf = f"{sys.executable} -m springbok conf --format submit planning.budget=0"
    with_ = _run(["bash", "-c", f'eval "$({conf} | sed "s|^spark-submit|{submit}|")" {job}'], tmp_path)
    without = _run(["bash", "-c", f"{submit} {job}"], tmp_path)
    assert "RuntimeFilter" in with_ and "RuntimeFilter" not in without
    assert with_.partition("== Physical Plan")[0] == without.partition("== Physical Plan")[0] != ""
    assert Spark(pyspark.__version__).explains == ("Extended Information (Springbok)" in with_)


def test_the_gate_refuses_a_cartesian_product(tmp_path: Path) -> None:
    gate = (ROOT / "examples" / "airflow" / "gate.py").read_text(encoding="utf-8")
    command = re.search(r'^CHECK = "springbok (.*)"$', gate, re.MULTILINE)
    assert command is not None
    for name in ("a", "b"):
        (tmp_path / "data").mkdir(exist_ok=True)
        pq.write_table(pa.table({"k": [1, 2, 3]}), tmp_path / "data" / f"{name}.parquet")
    env = {"QUERY": str(tmp_path / "q.sql"), "TABLES": str(tmp_path / "data")}
    line = ["bash", "-c", f"{sys.executable} -m springbok {command[1]}"]
    (tmp_path / "q.sql").write_text("SELECT count(*) FROM a JOIN b USING (k)")
    _run(line, tmp_path, **env)
    (tmp_path / "q.sql").write_text("SELECT /*+ SHUFFLE_REPLICATE_NL(b) */ count(*) FROM a, b")
    done = subprocess.run(line, cwd=tmp_path, env=ENV | env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1 and "cartesian product" in done.stderr, done.stderr[-1000:]
