"""`python -m springbok history`: what applications have learned and share in a folder."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from springbok.history import Entry, export, prune, read
from springbok.render.words import amount, size

_DAY_MS = 24 * 3600 * 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    actions = parser.add_subparsers(dest="action", required=True)
    show = actions.add_parser("show", help="print the entries, the last one first")
    show.add_argument("--limit", type=_count, default=50, help="entries that are printed (default: 50)")
    drop = actions.add_parser("prune", help="drop old entries, and put the files together")
    drop.add_argument("--keep", type=_count, help="the number of entries that stay, the last ones (default: all)")
    drop.add_argument("--days", type=_days, help="drop what did not run for so many days")
    out = actions.add_parser("export", help="print the entries as JSON, one a line")
    for action in (show, drop, out):
        action.add_argument("--path", type=Path, required=True, help="the folder: spark.springbok.history.path")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of entries")
    return int(text)


def _days(text: str) -> float:
    days = float(text)
    if not 0 <= days < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days")
    return days


def run(args: argparse.Namespace) -> int:
    """Print entries, or drop some.

    Raises:
        SpringbokError: a folder that cannot be read or written.
    """
    if args.action == "prune":
        since = 0 if args.days is None else int(time.time() * 1000 - args.days * _DAY_MS)
        before, after = prune(args.path, keep=args.keep, since_ms=since)
        print(f"{after} of {before} entries are left")
        return 0
    folder = read(args.path)
    lines = export(folder) if args.action == "export" else (_shown(e) for e in folder.entries[: args.limit])
    for line in lines:
        print(line)
    if folder.ignored:
        print(f"{folder.ignored} lines are no entries of this version", file=sys.stderr)
    return 0


def _shown(e: Entry) -> str:
    rows = f"{amount(e.rows)} rows of {size(e.input_bytes)}"
    what = f"{e.selectivity:.2%} of a table" if e.rows is None else rows
    last = datetime.fromtimestamp(e.last_ms / 1000, timezone.utc)
    runs = "1 run" if e.runs == 1 else f"{e.runs} runs"
    # A label was written by others: no line break or control character of it reaches the terminal.
    label = "".join(c if c.isprintable() else "?" for c in e.label) if e.label else e.key
    return f"{last:%Y-%m-%d %H:%M}  {what}, {runs}: {label}"
