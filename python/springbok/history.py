"""The history that applications share in a folder (`spark.springbok.history.path`): its files, read as data."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from springbok.errors import SpringbokError

_VERSION = 1
_NAME = re.compile(r"history-[0-9a-f-]{1,40}\.jsonl")
_KEY = re.compile(r"[0-9a-f]{32}")
_LONGEST = 16 << 10
_MOST_RUNS = 10**9


@dataclass(frozen=True)
class Entry:
    """What was learned of a part of a query.

    Either its `rows`, with the `input_bytes` that were read and a `label` for people, or the `selectivity` of the
    conditions of one form. `last_ms` is when it ran last, in ms since 1970. `text` is its line in JSON.
    """

    key: str
    runs: int
    last_ms: int
    text: str
    rows: int | None = None
    selectivity: float | None = None
    input_bytes: int = 0
    label: str | None = None


@dataclass(frozen=True)
class Folder:
    """The entries of a folder, the latest of each key, the last one first; how many lines are none, and the files
    without such lines."""

    entries: tuple[Entry, ...]
    ignored: int
    files: tuple[Path, ...]


def read(path: Path) -> Folder:
    """All entries of a folder.

    Raises:
        SpringbokError: there is no such folder, or a file of it cannot be read.
    """
    if not path.is_dir():
        raise SpringbokError(f"{path} is no local folder: mount or copy spark.springbok.history.path, and give that.")
    now = int(time.time() * 1000)
    try:
        files = sorted(f for f in path.iterdir() if f.is_file() and _NAME.fullmatch(f.name))
        found = {f: [_entry(line, now) for line in _lines(f)] for f in files}
    except OSError as e:
        raise SpringbokError(f"The history in {path} cannot be read: {e}.") from e
    entries = [e for of_file in found.values() for e in of_file]
    whole = tuple(f for f, of_file in found.items() if None not in of_file)
    return Folder(_latest(e for e in entries if e is not None), entries.count(None), whole)


def prune(path: Path, *, keep: int | None = None, since_ms: int = 0) -> tuple[int, int]:
    """Puts the files of a folder together, without old entries. Return how many entries there were, and are now.

    A file with a line that is no entry of this version stays as it is: another version may read it.

    `keep` is how many of the latest entries stay, all if it is None; `since_ms` is the time of the oldest that stays,
    in ms since 1970. Applications may go on writing.

    Raises:
        SpringbokError: the folder cannot be read or written.
    """
    folder = read(path)
    left = [e for e in folder.entries if e.last_ms >= since_ms][:keep]
    name = f"history-{uuid.uuid4()}-0"
    hidden = path / f".{name}.tmp"
    try:
        if left:
            with hidden.open("x", encoding="utf-8") as file:
                file.writelines(f"{_line(e.text)}\n" for e in left)
                file.flush()
                os.fsync(file.fileno())
            hidden.chmod(path.stat().st_mode & 0o666)
            hidden.replace(path / f"{name}.jsonl")
        # The new file is there before the old ones go.
        for f in folder.files:
            f.unlink(missing_ok=True)
    except OSError as e:
        with contextlib.suppress(OSError):
            hidden.unlink(missing_ok=True)
        raise SpringbokError(f"The history in {path} cannot be written: {e}.") from e
    return len(folder.entries), len(left)


def export(folder: Folder) -> Iterator[str]:
    """The entries as JSON, one a line."""
    return (e.text for e in folder.entries)


def _lines(path: Path) -> Iterator[bytes]:
    """Lines that are not empty; one that is too long comes in pieces, which are no entries."""
    with path.open("rb") as file:
        while line := file.readline(4 * _LONGEST):
            if line != b"\n":
                yield line.removesuffix(b"\n")


def _latest(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    found: dict[tuple[str, bool], Entry] = {}
    for e in entries:
        key = (e.key, e.rows is None)
        if key not in found or found[key].last_ms < e.last_ms:
            found[key] = e
    return tuple(sorted(found.values(), key=lambda e: (-e.last_ms, e.key)))


def _line(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x} {text}"


def _entry(line: bytes, now: int) -> Entry | None:
    """The entry of a line; None for what was written by half, changed, made by another version, or after `now` (ms)."""
    try:
        text = line.decode()
        if len(text) > _LONGEST or text != _line(text[9:]):
            return None
        d = json.loads(text[9:])
        return _parsed(d, text[9:], now) if isinstance(d, dict) and d.get("v") == _VERSION else None
    except (ValueError, RecursionError):
        return None


def _parsed(d: dict[str, Any], text: str, now: int) -> Entry | None:
    key, runs, last, label = d.get("key"), d.get("runs"), d.get("last"), d.get("label")
    if not (isinstance(key, str) and _KEY.fullmatch(key) and _count(runs) and _count(last)):
        return None
    if not 1 <= runs <= _MOST_RUNS or last > now:
        return None
    rows, selectivity, inputs = d.get("rows"), d.get("selectivity"), d.get("inputs")
    if _count(rows) and isinstance(inputs, list):
        read = sum(i[1] for i in inputs if isinstance(i, list) and len(i) == 3 and _count(i[1]))
        return Entry(key, runs, last, text, rows, None, read, label if isinstance(label, str) else None)
    if isinstance(selectivity, float) and 0 < selectivity <= 1:
        return Entry(key, runs, last, text, selectivity=selectivity)
    return None


def _count(n: Any) -> TypeGuard[int]:
    return type(n) is int and 0 <= n < 1 << 63
