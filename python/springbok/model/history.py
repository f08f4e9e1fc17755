"""What earlier queries taught."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class History:
    """Runs of earlier queries that an estimate was learned from; `last_ms` is when the last ended, in ms since 1970."""

    runs: int
    last_ms: int
