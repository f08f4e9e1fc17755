"""What a client of Spark Connect asks its server."""

from __future__ import annotations

from typing import Any

import springbok
from springbok import _server


class Row:
    """What `collect()` gives."""

    def collect(self) -> list[list[str]]:
        return [["{}"]]


class Client:
    """A session of Spark Connect, as far as it asks for reports."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def sql(self, text: str) -> Row:
        self.asked.append(text)
        return Row()


class Query(Row):
    """A DataFrame that notes the hints that it gets."""

    isStreaming = False

    def __init__(self, client: Client) -> None:
        self.sparkSession = client

    def hint(self, *words: str) -> Row:
        self.sparkSession.asked.append(" ".join(words))
        return Row()


def test_a_server_is_asked_once_whether_it_has_the_extension() -> None:
    client = Client()
    df: Any = Query(client)
    for _ in range(3):
        _server.check_query(df)
        assert _server.planned(df) == "{}"
    assert client.asked == ["SELECT report FROM springbok_reports(0)", *["springbok_report"] * 3]
    # A user who asks gets an answer of now.
    assert springbok.is_active(client)  # type: ignore[arg-type]
    assert len(client.asked) == 5
