"""Measuring in a process of its own, so with a JVM of its own."""

from __future__ import annotations

import multiprocessing
from typing import Any


def fresh(function: Any, *args: Any) -> Any:
    """The result of a module's function in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args)
