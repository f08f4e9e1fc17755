"""A standalone master with two workers, as an operator starts them, and dynamic allocation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import sbt
from processes import HOME, free_port

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parent.parent


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    ends = ["--host", "127.0.0.1", "--webui-port", "0"]
    worker = ["worker.Worker", *ends, "--cores", "3", "--memory", "1g", "--work-dir", str(tmp_path / "work"), url]
    with ExitStack() as running:
        for role in (["master.Master", *ends, "--port", str(port)], worker, worker):
            command = [
                sbt.java(),
                "-cp",
                f"{HOME / 'jars'}/*",
                "-Xmx512m",
                *os.environ["SPARK_DAEMON_JAVA_OPTS"].split(),
                f"org.apache.spark.deploy.{role[0]}",
                *role[1:],
            ]
            process = subprocess.Popen(
                command,
                env=os.environ | {"SPARK_HOME": str(HOME), "SPARK_SCALA_VERSION": "2.13"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            running.callback(process.wait)
            running.callback(process.terminate)
        yield url


def test_executors_come_and_go_have_their_workers_cores_and_answers_stay(master: str, tmp_path: Path) -> None:
    # Without `spark.executor.cores` an executor once counted as one core, and a task got all of its memory.
    # Each planning, and later each report, asked the block managers' master for the executors: as long as losing one.
    script = [sys.executable, "-m", "cluster.standalone", str(tmp_path), master]
    env = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(script, capture_output=True, text=True, cwd=tmp_path, env=env, check=False, timeout=1500)
    rounds = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(rounds) == 3, done.stderr[-9000:]
    for outcome in rounds:
        assert outcome["right"] and not outcome["failures"], outcome
        assert outcome["idle"] == 0 and outcome["at work"] > 0, outcome
        assert 1 <= outcome["planned for"] <= 2, outcome
        # Nothing says how many cores an executor has: those of its worker.
        assert outcome["cores"] == 3, outcome
        assert "used" in outcome["filters"], outcome
        # To ask the block managers' master may take as long as an executor's loss.
        assert outcome["plans alone"], outcome
