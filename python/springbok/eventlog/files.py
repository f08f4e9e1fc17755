"""The files of Spark's event logs: plain, rolling and compressed ones, read line by line."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from springbok.errors import SpringbokError

_PART = re.compile(r"events_(\d+)_")
_CODECS = ("zstd", "lz4")
_NOT_READ = ("lzf", "snappy", "gz")
_LZ4_RAW, _LZ4_METHOD = 0x10, 0xF0
Log = tuple[Path, ...]
"""The files of one application in their order."""


def logs(paths: Iterable[Path]) -> Iterator[Log]:
    """The logs of files, of rolling logs, and of folders with any number of both.

    Raises:
        SpringbokError: a path does not exist.
    """
    for path in paths:
        if path.is_file():
            yield (path,)
        elif path.is_dir():
            yield from _of_folder(path)
        else:
            raise SpringbokError(f"There is no event log {path}: give a file, a rolling log or a folder of logs.")


def lines(log: Log) -> Iterator[bytes]:
    """The lines of a log. A file that was cut off ends where it was cut.

    Raises:
        SpringbokError: a file cannot be read, or a package for its codec is missing.
    """
    for path in log:
        try:
            with path.open("rb") as file:
                yield from _decompressed(file, path)
        except SpringbokError:
            raise
        except Exception as e:  # each codec has errors of its own
            raise SpringbokError(f"The event log {path} cannot be read: {e}.") from e


def _of_folder(top: Path) -> Iterator[Log]:
    """One folder at a time, so that thousands of logs take no memory."""
    for folder, folders, names in os.walk(top):
        folders.sort()
        parts = [(int(found[1]), n.endswith(".compact"), n) for n in names if (found := _PART.match(n))]
        if parts:
            # What was compacted stands for all parts before it.
            first = max((p for p in parts if p[1]), default=min(parts))
            yield tuple(Path(folder, n) for *key, n in sorted(parts) if tuple(key) >= first[:2])
        else:
            yield from ((path,) for n in sorted(names) if _is_log(path := Path(folder, n)))


def _is_log(path: Path) -> bool:
    """Whether a file of a folder is an event log: by its codec, or by how it begins."""
    if path.name[0] in "._":
        return False
    if _codec(path) in (*_CODECS, *_NOT_READ):
        return True
    with path.open("rb") as file:
        return file.read(9) == b'{"Event":'


def _codec(path: Path) -> str:
    return path.name.removesuffix(".inprogress").removesuffix(".compact").rpartition(".")[2]


def _decompressed(file: IO[bytes], path: Path) -> Iterable[bytes]:
    codec = _codec(path)
    if codec in _NOT_READ:
        raise SpringbokError(f"{path} is compressed with {codec}, which is not read: compress it with zstd or lz4.")
    if codec not in _CODECS:
        return file
    try:
        if codec == "lz4":
            from lz4.block import decompress

            return io.BufferedReader(_Lz4Blocks(file, decompress), 1 << 20)
        from zstandard import ZstdDecompressor
    except ImportError as e:
        raise SpringbokError(f"{path} needs a package: pip install 'springbok[logs]'.") from e
    return io.BufferedReader(ZstdDecompressor().stream_reader(file, read_across_frames=True), 1 << 20)


class _Lz4Blocks(io.RawIOBase):
    """The framing of lz4-java's `LZ4BlockOutputStream`, as Spark writes it: not the frame format of `lz4`."""

    def __init__(self, file: IO[bytes], decompress: Callable[..., bytes]) -> None:
        self._file, self._decompress, self._block = file, decompress, b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._block:
            # The magic, a byte of method and level, the lengths of the block and of its content, and a checksum.
            head = self._file.read(21)
            if head and not b"LZ4Block".startswith(head[:8]):
                raise OSError("it does not have the blocks that Spark's codec lz4 writes")
            size, length = (int.from_bytes(head[i : i + 4], "little") for i in (9, 13))
            data = self._file.read(size)
            if len(head) < 21 or len(data) < size:
                return 0
            raw = head[8] & _LZ4_METHOD == _LZ4_RAW
            self._block = data if raw else self._decompress(data, uncompressed_size=length)
        n = min(len(target), len(self._block))
        target[:n], self._block = self._block[:n], self._block[n:]
        return n
