"""Texts that are compared with committed files."""

from __future__ import annotations

import difflib
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def golden(path: Path, text: str) -> None:
    """Delete the file to have it written anew, and read it before it is committed."""
    if not path.exists():
        path.write_text(text, encoding="utf-8")
    expected = path.read_text(encoding="utf-8")
    assert text == expected, "\n".join(
        difflib.unified_diff(expected.splitlines(), text.splitlines(), str(path), "now", n=1, lineterm="")
    )
