"""Tables on the terminal, on a self-contained page and in JSON, for the commands that read event logs."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from springbok import markup
from springbok.checks import size
from springbok.errors import SpringbokError
from springbok.eventlog.files import Log, logs
from springbok.reports import width


@dataclass(frozen=True)
class Section:
    """A title, sentences, and a table. The last cell of a row may have several lines."""

    title: str
    sentences: Sequence[str]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the commands have in common."""
    parser.add_argument("logs", nargs="+", type=Path, help="event logs: files, rolling logs, or folders of them")
    parser.add_argument("--html", type=Path, help="also write the result as a page")
    parser.add_argument("--json", type=Path, help="also write the result as JSON")


def show(args: argparse.Namespace, title: str, sections: Sequence[Section], data: Any) -> None:
    """Print the sections, and write the files that were asked for.

    Raises:
        SpringbokError: there are no sections, or a path cannot be written.
    """
    if not sections:
        raise SpringbokError("There is no event log: give the folder that spark.eventLog.dir names.")
    most = width() if sys.stdout.isatty() else None
    print("\n\n".join("\n  ".join(_lines(s, most)) for s in sections))
    if args.html:
        markup.write(args.html, markup.page(title, "".join(map(_html, sections))))
    if args.json:
        markup.write(args.json, json.dumps(data, indent=1) + "\n")


def read(paths: Iterable[Path]) -> Iterator[Log]:
    """The logs. A line on standard error names the one that is read, if that is a terminal."""
    for number, log in enumerate(logs(paths), 1):
        _say(f"reading log {number}: {log[0].name}, {size(sum(path.stat().st_size for path in log))}")
        yield log
    _say("")


def _say(what: str) -> None:
    if sys.stderr.isatty():  # its line is cleared first
        print(f"\r\x1b[K{what[: width() - 1]}", end="", file=sys.stderr, flush=True)


def _lines(s: Section, most: int | None) -> Iterator[str]:
    """The last cell of a row is wrapped if a line must not have more characters than `most`."""
    yield s.title
    yield from s.sentences
    table = [s.head, *s.rows] if s.rows else []
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in table), strict=True)]
    for *cells, last in table:
        first = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        left = max(20, (most or sys.maxsize) - len(first) - 6)
        for i, part in enumerate(p for line in last.split("\n") for p in textwrap.wrap(line, left) or [""]):
            yield f"{' ' * len(first) + '  ' if i else first}  {part}"


def _html(s: Section) -> str:
    return markup.section(s.title, s.sentences, s.head, s.rows, numbers=True)
