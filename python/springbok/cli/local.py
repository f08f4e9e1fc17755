"""The session of a command, without the messages of its JVM."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from springbok.errors import SpringbokError
from springbok.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def quiet_session(
    master: str, memory: str, app: str, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session for a block. What its JVM says is shown only if the block fails unexpectedly.

    The JVM inherits a file as its standard error. Settings of log4j would not do: Java itself warns of the incubator
    module that Spark uses, and Spark tells its log level before it reads a setting.
    """
    with tempfile.TemporaryFile() as log:
        try:
            with _standard_error(log):
                spark = local_session(master, memory, app, settings)
            try:
                yield spark
            finally:
                spark.stop()
        except SpringbokError:
            raise
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace")[-5000:])
            raise


@contextmanager
def _standard_error(file: IO[bytes]) -> Iterator[None]:
    """Within the block, this process and what it starts write standard error to a file."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)
