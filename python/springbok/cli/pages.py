"""Tables on the terminal, on a self-contained page and in JSON, for the commands that read event logs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from springbok.errors import SpringbokError

_STYLE = """:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto}
td,th{border-bottom:1px solid #8884;padding:.3em .7em;text-align:right;vertical-align:top}
td:last-child,th:last-child{text-align:left;white-space:pre-line;overflow-wrap:anywhere}"""


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
    print("\n\n".join("\n  ".join(_lines(s)) for s in sections))
    page = "".join(_html(s) for s in sections)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    contents = {
        args.html: f'<!doctype html><html lang="en">{head}<style>{_STYLE}</style><h1>{title}</h1>{page}\n',
        args.json: json.dumps(data, indent=1) + "\n",
    }
    for path in filter(None, contents):
        try:
            path.write_text(contents[path], encoding="utf-8")
        except OSError as e:
            raise SpringbokError(f"{path} cannot be written: {e.strerror}.") from e


def _lines(s: Section) -> Iterator[str]:
    yield s.title
    yield from s.sentences
    table = [s.head, *s.rows] if s.rows else []
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in table), strict=True)]
    for *cells, last in table:
        first = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        for i, line in enumerate(last.split("\n")):
            yield f"{' ' * len(first) + '  ' if i else first}  {line}"


def _html(s: Section) -> str:
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in s.rows)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in s.head if s.rows)
    told = "".join(f"<p>{escape(x)}</p>" for x in s.sentences)
    return f"<h2>{escape(s.title)}</h2>{told}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
