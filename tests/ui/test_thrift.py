"""A Thrift server, and who its reports say has run a query."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import springbok
from processes import HOME, environment, free_port, server

SQL = """
CREATE TABLE facts USING parquet AS SELECT id, id % 1000 AS k FROM range(10000);
CREATE TABLE dims USING parquet AS SELECT id AS k, concat('n', id) AS name FROM range(1000);
SELECT count(*) FROM facts JOIN dims USING (k) WHERE name = 'n7';
SELECT concat('REPORT ', report) FROM springbok_reports();
"""


@pytest.mark.slow
def test_reports_name_the_user_of_the_session(tmp_path: Path) -> None:
    if not list((HOME / "jars").glob("spark-hive-thriftserver_*.jar")):
        pytest.skip("this PySpark has no Thrift server")
    port = free_port()
    settings = [
        f"spark.jars={springbok.jar_path()}",
        f"spark.sql.extensions={springbok.session.EXTENSION}",
        f"spark.sql.warehouse.dir={(tmp_path / 'warehouse').as_uri()}",
        f"spark.hadoop.hive.server2.thrift.port={port}",
        "spark.hadoop.hive.server2.thrift.bind.host=127.0.0.1",
        "spark.ui.enabled=false",
    ]
    (tmp_path / "q.sql").write_text(SQL)
    with server(tmp_path, "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", port, settings, 120):
        beeline = [str(HOME / "bin" / "spark-class"), "org.apache.hive.beeline.BeeLine", "--outputformat=tsv2"]
        session = ["-u", f"jdbc:hive2://127.0.0.1:{port}", "-n", "alice", "-f", "q.sql"]
        done = subprocess.run(
            [*beeline, *session], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
    found = re.findall(r"REPORT (\{.*\})", done.stdout)
    assert found, (done.stdout[-2000:], done.stderr[-2000:])
    assert {json.loads(r)["query"]["user"] for r in found} == {"alice"}
