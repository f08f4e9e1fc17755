from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import springbok
from springbok.reports import Report

RECORD = Path(__file__).parents[1] / "golden" / "q3-executed.json"


@pytest.fixture
def report() -> Report:
    return Report.from_json(RECORD.read_text(encoding="utf-8"))


def test_a_plan_without_violations(report: Report) -> None:
    report.check(max_broadcast="1g", max_memory="1GB", no_cartesian=True, no_nested_loop=True, no_failures=True)
    report.check(no_sort_merge=True, hints_followed=True, max_q_error=1e9)
    report.check()


@pytest.mark.parametrize(
    ("conditions", "sentence"),
    [
        ({"max_broadcast": "1k"}, r"Join \d+ \(.* = .*\) broadcasts [\d.,]+ MB, more than 1\.0 KB\."),
        ({"max_memory": 10}, r"The joins may take .* of an executor, more than 10 B\."),
        ({"max_q_error": 1}, r"Join \d+ \(.*\) has an estimate that is off by [\d.,]+x, more than 1x\."),
    ],
)
def test_violations_are_sentences(report: Report, conditions: dict[str, Any], sentence: str) -> None:
    with pytest.raises(springbok.CheckFailed, match=sentence):
        report.check(**conditions)


def test_a_condition_that_is_switched_off_is_not_checked(report: Report) -> None:
    report.check(max_broadcast=False)


def test_wrong_conditions_are_said_so(report: Report) -> None:
    with pytest.raises(springbok.SpringbokError, match="no condition 'max_brodcast': choose among max_broadcast"):
        report.check(max_brodcast="1g")
    # Sizes are those of Spark's settings: whole numbers.
    for wrong in ("big", "1.5g", -1):
        with pytest.raises(
            springbok.SpringbokError, match=f"max_broadcast cannot be {wrong!r}: it takes a size such as"
        ):
            report.check(max_broadcast=wrong)
    with pytest.raises(springbok.SpringbokError, match="max_q_error cannot be 'big': it takes a number"):
        report.check(max_q_error="big")
    for missing in (None, True):
        with pytest.raises(springbok.SpringbokError, match="it takes a number"):
            report.check(max_q_error=missing)
