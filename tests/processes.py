"""Spark's own programs, started by tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent


def free_port() -> int:
    """A port of loopback that nobody listens to."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def environment() -> dict[str, str]:
    """The environment of PySpark's scripts, which stay in the foreground."""
    return os.environ | {
        "SPARK_HOME": str(HOME),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }


@contextmanager
def server(folder: Path, main: str, port: int, settings: Sequence[str], seconds: float) -> Iterator[None]:
    """A server of Spark's that `spark-submit` runs in this folder, while it listens to this port.

    Args:
        folder: where it runs, and writes its log.
        main: its class.
        port: where its settings make it listen.
        settings: `key=value` each.
        seconds: how long it may take to start.
    """
    options = [o for s in settings for o in ("--conf", s)]
    command = [str(HOME / "bin" / "spark-submit"), "--master", "local[2]", *options, "--class", main, "spark-internal"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + seconds
            while not _listens(port):
                assert process.poll() is None and time.monotonic() < deadline, (folder / "server.log").read_text()
                time.sleep(0.3)
            yield
        finally:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0
