"""The classes of a report are those that the schema gives, and read a document as it is."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import model
import pytest
import springbok
from springbok.reports import Report

RECORD = json.loads((Path(__file__).parents[1] / "golden" / "q3-executed.json").read_text(encoding="utf-8"))


def test_the_committed_module_is_what_the_generator_writes() -> None:
    assert model.TARGET.read_text(encoding="utf-8") == model.module(), "run python tools/model.py"


def _holds(whole: Any, part: Any) -> bool:
    """Whether all of a document is in another one, where tuples stand for lists."""
    if isinstance(part, dict):
        return all(k in whole and _holds(whole[k], v) for k, v in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(_holds, whole, part))
    return bool(whole == part)


def test_nothing_of_a_document_is_lost() -> None:
    report = Report.from_dict(RECORD)
    assert report.to_dict() == json.loads(report.to_json()) == RECORD
    assert _holds(asdict(report), RECORD)


def test_another_format_is_refused() -> None:
    with pytest.raises(springbok.SpringbokError, match="has format 2 and this package reads 3: use the jar"):
        Report.from_dict({**RECORD, "version": 2})
