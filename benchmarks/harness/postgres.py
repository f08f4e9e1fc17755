"""A PostgreSQL server of its own on loopback, from the package pgserver."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import maven
import pgserver

ROOT = Path(__file__).resolve().parents[2]


def driver() -> Path:
    """The jar of PostgreSQL's JDBC driver, fetched once.

    Raises:
        maven.FetchError: it cannot be fetched.
    """
    return maven.jar("org.postgresql", "postgresql", "42.7.7", ROOT / ".cache")


@contextmanager
def serving(folder: Path, statements: Sequence[str]) -> Iterator[dict[str, str]]:
    """Within the block the server runs, after these statements. Gives the options of Spark's JDBC source."""
    server = pgserver.get_server(folder, cleanup_mode=None)
    try:
        for sql in statements:
            server.psql(sql)
        # The package starts it with a socket alone, which JDBC does not know.
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        _control(server, "-w", "-m", "fast", "stop")
        _control(server, "-w", "-l", str(server.log), "-o", f"-h 127.0.0.1 -p {port} -k {folder}", "start")
        url = f"jdbc:postgresql://127.0.0.1:{port}/postgres"
        yield {"url": url, "user": "postgres", "driver": "org.postgresql.Driver", "fetchsize": "10000"}
    finally:
        _control(server, "-m", "fast", "stop")


def _control(server: pgserver.PostgresServer, *args: str) -> None:
    pgserver.pg_ctl(list(args), pgdata=server.pgdata, user=server.system_user)
