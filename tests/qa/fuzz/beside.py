"""A second application, in a process of its own, that reads the same files and shares the history at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from qa.fuzz import engine
from qa.fuzz.data import Table
from qa.fuzz.engine import Answer, Settings


class Beside:
    """Starts the application; it answers one query after the other, while its callers go on."""

    def __init__(self, warehouse: Path) -> None:
        spawn = get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs, warehouse), daemon=True)
        self._process.start()
        self._asking = ThreadPoolExecutor(1)

    def answer(self, tables: Sequence[Table], where: Path, sql: str, settings: Settings) -> Future[Answer]:
        """The answer to a query over tables of plain files in this folder."""
        plain = [replace(t, arrow=None) for t in tables]
        return self._asking.submit(self._ask, (plain, where, sql, settings))

    def stop(self) -> None:
        self._asking.shutdown()
        self._pipe.send(None)
        self._process.join()

    def _ask(self, question: Any) -> Any:
        self._pipe.send(question)
        return self._pipe.recv()


def _serve(pipe: Connection, warehouse: Path) -> None:
    spark = engine.session(warehouse)
    while question := pipe.recv():
        tables, where, sql, settings = question
        for t in tables:
            engine.view(spark, t, engine.raw(spark, t, where / t.name))
        pipe.send(engine.answer(spark, sql, settings))
    spark.stop()
