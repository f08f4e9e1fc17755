"""Measuring in a process of its own, so with a JVM of its own."""

from __future__ import annotations

import multiprocessing
from typing import Any

from springbok.errors import SpringbokError


def fresh(function: Any, *args: Any) -> Any:
    """The result of a module's function in a new process.

    Raises:
        SpringbokError: the function failed. Errors of Py4J cannot be sent between processes.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_called, (function, *args))


def _called(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as e:
        raise SpringbokError(f"{type(e).__name__}: {e}") from None
