"""The settings of Springbok as the JVM half declares them; `settings.json` is generated from there."""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from springbok.errors import SpringbokError

PREFIX = "spark.springbok."
_BYTES = re.compile(r"(\d+)([bkmgtp]|[kmgtp]i?b)?", re.IGNORECASE)
# The form of each kind of value, and how it is asked for.
_KINDS = {
    "boolean": (re.compile("true|false", re.IGNORECASE), "true or false"),
    "int": (re.compile(r"\d+"), "a whole number"),
    "double": (re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE), "a number"),
    "bytes": (_BYTES, "a size such as 64m"),
    "path": (re.compile(".*"), "a path"),
    "fingerprints": (
        re.compile("([0-9a-f]{16}(,[0-9a-f]{16})*)?"),
        "fingerprints of reports: 16 digits of 0-9 and a-f, separated by commas",
    ),
    "time": (re.compile(r"\d+(us|ms|s|m|min|h|d)?", re.IGNORECASE), "a time in ms, or one such as 2s"),
}


@cache
def known() -> dict[str, dict[str, Any]]:
    """Each setting by its full key: default, kind of value, allowed values."""
    text = (files("springbok") / "settings.json").read_text(encoding="utf-8")
    return {s["key"]: s for s in json.loads(text)}


def checked(settings: dict[str, Any]) -> dict[str, str]:
    """Full keys and values as Spark takes them.

    Raises:
        SpringbokError: a key that does not exist, with the nearest that does; a value that its setting cannot take.
            Both are named as the caller names settings.
    """
    return {key: _value(name, key, v) for key, name, v in ((_key(name), name, v) for name, v in settings.items())}


def size_bytes(text: str) -> int | None:
    """The bytes of a size as Spark writes it, a whole number with a unit or without; None if it is none."""
    found = _BYTES.fullmatch(text.strip())
    return int(found[1]) << 10 * "bkmgtp".index((found[2] or "b")[0].lower()) if found else None


def _key(name: str) -> str:
    whole = name.startswith(PREFIX)
    key = name if whole else PREFIX + name.replace("_", ".")
    if key not in known():
        names = known() if whole else [k.removeprefix(PREFIX).replace(".", "_") for k in known()]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0)[0]
        raise SpringbokError(f"{name} is not a setting of Springbok; the nearest one is {near}.")
    return key


def _value(name: str, key: str, value: Any) -> str:
    setting = known()[key]
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    if isinstance(value, (list, tuple, set)):
        text = ",".join(str(v) for v in value)
    kind, allowed = setting["kind"], setting["allowed"]
    form, words = _KINDS.get(kind, (None, None))
    if form is not None:
        fits = bool(form.fullmatch(text)) or text.lower() in allowed
    else:
        fits = all(t.strip().upper() in allowed for t in (text.split(",") if kind == "list" else [text]))
    if not fits:
        takes = ([words] if words else []) + allowed
        raise SpringbokError(f"{name} cannot be {value!r}: it takes {' or '.join(takes)}.")
    return text
