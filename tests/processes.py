"""Spark's own programs, started by tests."""

from __future__ import annotations

import os
import socket
import sys
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
