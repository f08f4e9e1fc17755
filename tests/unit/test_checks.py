from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import springbok
from springbok.model import Side
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
        # Spark counts 32 MB, a whole page, for 337 rows of 16 bytes.
        ({"max_broadcast": "1k"}, r"Join \d+ \(.* = .*\) broadcasts [\d.,]+ KB, more than 1\.0 KB\."),
        ({"max_memory": 10}, r"The joins may take .* of an executor, more than 10 B\."),
        ({"max_q_error": 1}, r"Join \d+ \(.*\) has an estimate that is off by [\d.,]+x, more than 1\.0x\."),
    ],
)
def test_violations_are_sentences(report: Report, conditions: dict[str, Any], sentence: str) -> None:
    with pytest.raises(springbok.CheckFailed, match=sentence):
        report.check(**conditions)


def test_a_broadcast_is_as_large_as_its_rows_and_not_as_its_first_page(report: Report) -> None:
    # For a relation of 20 rows, Spark counts the 64 MB that it has allocated.
    report.check(max_broadcast="10m")
    join = report.joins[0]
    page, pages = (replace(join.left, observed_bytes=n << 20, observed_rows=20, row_bytes=24) for n in (64, 192))

    def built(left: Side, **fields: Any) -> Report:
        return replace(report, joins=(replace(join, build="left", left=left, **fields),))

    built(page).check(max_broadcast=480)
    with pytest.raises(springbok.CheckFailed, match=r"broadcasts 480 B, more than 479 B\."):
        built(page).check(max_broadcast=479)
    # A join that was left to Spark has no width of its own.
    built(replace(page, row_bytes=None, estimated_rows=10, estimated_bytes=240)).check(max_broadcast=480)
    # Several pages are there because the rows have filled them; a nested loop's rows are counted one by one.
    for other in (built(pages), built(page, strategy="broadcast nested loop")):
        with pytest.raises(springbok.CheckFailed, match=r"MB, more than 480 B\."):
            other.check(max_broadcast=480)


def test_what_is_compared_does_not_look_equal(report: Report) -> None:
    side = replace(report.joins[0].left, observed_bytes=None, bound_bytes=(64 << 20) + 50_000)
    with pytest.raises(springbok.CheckFailed, match=r"broadcasts 64\.05 MB, more than 64\.00 MB\."):
        replace(report, joins=(replace(report.joins[0], build="left", left=side),)).check(max_broadcast="64m")
    with pytest.raises(springbok.CheckFailed, match=r"off by 1\.004x, more than 1\.000x\."):
        replace(report, joins=(replace(report.joins[0], q_error=1.004),)).check(max_q_error=1)


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
