"""`qualify` and `fleet` on event logs. The small ones were recorded with TPC-H q4 and q14, and trimmed."""

from __future__ import annotations

import io
import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from springbok import SpringbokError
from springbok.__main__ import main
from springbok.eventlog import files, findings
from springbok.eventlog.executions import Execution, Reader
from springbok.eventlog.files import lines, logs
from springbok.eventlog.fleet import fleet
from springbok.eventlog.plan import Operator, plan, ways
from springbok.eventlog.savings import expected

from benchmarks.studies import qualify as study

LOGS = Path(__file__).parent / "eventlogs"
WITHOUT, WITH = LOGS / "without", LOGS / "with"
_SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"


def _executions(given: Iterable[bytes]) -> list[Execution]:
    return [e for e in Reader().read(given) if isinstance(e, Execution)]


def _changed(**fields: Any) -> Execution:
    """The execution of TPC-H q4 with other fields."""
    e = _executions(lines((WITHOUT,)))[0]
    for name, value in fields.items():
        setattr(e, name, value)
    return e


def test_a_filter_and_a_strategy_are_expected() -> None:
    [total] = findings.qualified(logs([WITHOUT]), 20)
    q4, q14 = total.largest
    least, most = q4.expected_seconds
    assert least < most < q4.seconds and q4.against == ()
    assert q4.causes == (
        "a filter on l_orderkey of default.lineitem removes about 96% of the rows (join o_orderkey = l_orderkey)",
        "the sort-merge join o_orderkey = l_orderkey becomes shuffled hash (build side 57,218 rows)",
    )
    # It reads nearly all its time, and its filter removes rows of a small table only.
    assert max(q14.ratios) < 1.2 and q14.causes == ()
    assert total.seconds == pytest.approx(q4.seconds + q14.seconds) and total.application.damaged == 0


def test_rows_are_those_that_were_observed() -> None:
    operators = plan(_changed())
    rows = {o.table: o.rows for o in operators if o.table}
    assert rows == {"default.orders": 1_500_000, "default.lineitem": 6_001_215}
    [join] = [o for o in operators if o.join]
    assert [i.rows for i in join.inputs] == [57_218, 3_793_296] and join.rows == 52_523
    [way] = ways(join.inputs[1], "l_orderkey#9L")
    assert [o.name for o in way][:3] == ["Sort", "Exchange", "Project"] and way[-1].table == "default.lineitem"
    assert ways(join.inputs[1], "pythonUDF0#9L") == [] and ways(join.inputs[1], "o_orderkey#1") == []


def _node(text: str, *children: dict[str, Any], rows: int | None = None) -> dict[str, Any]:
    """An operator as Spark tells it. Its accumulator is its number of rows."""
    name = text.partition(" [")[0] if text.startswith("Scan") else re.split(r"\W", text)[0]
    metrics = [] if rows is None else [{"name": "number of output rows", "accumulatorId": rows, "metricType": "sum"}]
    return {"nodeName": name, "simpleString": text, "children": list(children), "metrics": metrics}


def _planned(root: dict[str, Any]) -> list[Operator]:
    return plan(Execution(1, "", 0, {}, root, metrics={n: float(n) for n in range(1000)}))


_SCAN = _node("Scan parquet t [k#1L, v#2]", rows=100)


@pytest.mark.parametrize(
    ("text", "key", "tables"),
    [
        ("Filter (v#2 > 1)", "k#1L", ["t"]),
        ("Project [k#1L AS x#3L]", "x#3L", ["t"]),
        ("Project [cast(k#1L as int) AS x#3]", "cast(x#3 as bigint)", ["t"]),
        ("Project [pythonUDF0#9 AS x#3, k#1L]", "x#3", []),
        ("HashAggregate(keys=[k#1L], functions=[sum(v#2)])", "k#1L", ["t"]),
        ("HashAggregate(keys=[k#1L], functions=[sum(v#2)])", "v#2", []),
        ("Window [rank(v#2) AS r#4], [k#1L], [v#2 ASC NULLS FIRST]", "k#1L", ["t"]),
        ("Window [rank(v#2) AS r#4], [k#1L], [v#2 ASC NULLS FIRST]", "v#2", []),
        ("GlobalLimit 10", "k#1L", []),
    ],
)
def test_where_a_filter_may_go(text: str, key: str, tables: list[str]) -> None:
    assert [way[-1].table for way in ways(_planned(_node(text, _SCAN))[0], key)] == tables


def test_a_filter_goes_to_both_sides_of_an_inner_join_and_not_below_a_reused_exchange() -> None:
    other = _node("Scan parquet u [k#5L]", rows=50)
    sent = _node("Exchange hashpartitioning(k#5L, 200), ENSURE_REQUIREMENTS, [plan_id=7]", other)
    again = _node("ReusedExchange [k#6L], Exchange hashpartitioning(k#5L, 200), ENSURE_REQUIREMENTS, [plan_id=7]")
    join = _node("SortMergeJoin [k#1L], [k#5L], Inner", _SCAN, sent, rows=60)
    assert [way[-1].table for way in ways(_planned(join)[0], "k#1L")] == ["t", "u"]
    twice = _planned(_node("SortMergeJoin [k#1L], [k#6L], Inner", join, again, rows=70))
    assert [way[-1].table for way in ways(twice[0], "k#1L")] == ["t"]
    assert [o.shared for o in twice if o.name == "Exchange"] == [True]


def test_a_filter_goes_into_each_input_of_a_union() -> None:
    other = _node("Project [v#8, k#7L AS x#9L]", _node("Scan parquet u [k#7L, v#8]", rows=50))
    both = _planned(_node("Union", _node("Project [v#2, k#1L AS x#3L]", _SCAN), other))[0]
    assert [way[-1].table for way in ways(both, "x#3L")] == ["t", "u"] and both.rows == 150
    assert ways(_planned(_node("Union", _SCAN, other))[0], "k#1L") == []


def test_a_plan_that_is_too_deep_has_no_finding() -> None:
    for depth, operators in ((200, 201), (5000, 0)):
        root = _SCAN
        for _ in range(depth):
            root = _node("Filter (v#2 > 1)", root)
        found = _planned(root)
        assert len(found) == operators and all(o.rows == 100 and len(o.ids) == 2 for o in found)


def test_rows_after_another_condition_say_nothing_about_keys() -> None:
    e = _changed()
    e.plan = json.loads(json.dumps(e.plan).replace(", LeftSemi", ", LeftSemi, (o_custkey#9 > 5)"))
    [f] = expected(e, plan(e)).filters
    assert not f.counted and f.retained == pytest.approx(57_218 / 1_500_000)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"failed": True}, "it failed"),
        ({"streaming": True}, "streaming"),
        ({"conf": {"spark.sql.extensions": "org.apache.spark.sql.springbok.SpringbokExtensions"}}, "already"),
    ],
)
def test_what_speaks_against_it(fields: dict[str, Any], said: str) -> None:
    found = findings.finding(_changed(**fields))
    assert found and said in found.against[0] and found.causes == () and found.ratios == (1, 1)


def test_a_stage_takes_its_time_however_few_its_rows_are() -> None:
    short = _changed(end=900, start=0)
    for stage in short.stages.values():
        stage.begin, stage.end = 0, 33
    assert (found := findings.finding(short)) and "less than a second" in found.against[0]
    assert expected(short, plan(short)).least == 0.9


def test_rows_of_text_files_are_unknown() -> None:
    e = _changed()
    e.plan = json.loads(json.dumps(e.plan).replace('"Scan parquet', '"Scan csv'))
    found = findings.finding(e)
    assert found and "row counts are unknown" in found.against[0] and found.ratios == (1, 1)


def test_without_adaptive_execution_there_are_no_filters() -> None:
    e = _changed(conf={"spark.sql.adaptive.enabled": "false"})
    found = findings.finding(e)
    assert found and "adaptive execution is off" in found.against[0] and "filter" not in found.causes[0]


def test_a_filter_must_not_remove_rows_that_an_outer_join_keeps() -> None:
    e = _changed()
    for kind, filters in (("LeftSemi", 1), ("LeftOuter", 1), ("RightOuter", 0), ("FullOuter", 0)):
        outer = _changed(plan=json.loads(json.dumps(e.plan).replace(", LeftSemi", f", {kind}")))
        assert len(expected(outer, plan(outer)).filters) == filters, kind


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "log.inprogress").write_bytes(WITHOUT.read_bytes()[:-700])
    [total] = findings.qualified(logs([tmp_path / "log.inprogress"]), 20)
    assert total.executions == 1 and total.application.unfinished == 1 and total.application.damaged == 1


def test_a_rolling_log_is_read_in_order_and_from_its_compacted_part_on(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    events = WITHOUT.read_bytes().splitlines(keepends=True)
    for number, part in ((1, b"not read"), (2, b"not read"), (3, b"".join(events[:20])), (11, b"".join(events[20:]))):
        (folder / f"events_{number}_app").write_bytes(part)
    (folder / "events_2_app.compact").write_bytes(b"")
    (folder / "appstatus_app").touch()
    [log] = logs([tmp_path])
    assert [p.name for p in log] == ["events_2_app.compact", "events_3_app", "events_11_app"]
    assert len(_executions(lines(log))) == 2


def test_a_folder_has_logs_and_other_files(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "app-1").write_bytes(WITH.read_bytes())
    for name in (".app-1.crc", "notes.txt", "_SUCCESS"):
        (tmp_path / name).write_text("no log")
    assert list(logs([tmp_path])) == [(tmp_path / "day" / "app-1",)]


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_compressed_logs(tmp_path: Path, codec: str) -> None:
    path, whole = tmp_path / f"app.{codec}", WITHOUT.read_bytes()
    if codec == "zstd":
        zstd = pytest.importorskip("zstandard")
        path.write_bytes(zstd.ZstdCompressor().compress(whole))
    else:
        block = pytest.importorskip("lz4.block")
        path.write_bytes(_lz4_blocks(whole, lambda data: block.compress(data, store_size=False)))
    assert list(lines((path,))) == whole.splitlines(keepends=True)
    # Cut off, it still gives what was complete.
    path.write_bytes(path.read_bytes()[:-40])
    assert len(list(lines((path,)))) <= len(whole.splitlines())


def _lz4_blocks(whole: bytes, compress: Any) -> bytes:
    """As lz4-java's LZ4BlockOutputStream writes them: compressed, stored, and the empty one at the end."""
    made = io.BytesIO()
    for i in range(0, len(whole), 4096):
        data = whole[i : i + 4096]
        packed, method = (data, 0x10) if i == 4096 else (compress(data), 0x20)
        made.write(b"LZ4Block" + bytes([method | 2]) + len(packed).to_bytes(4, "little"))
        made.write(len(data).to_bytes(4, "little") + bytes(4) + packed)
    made.write(b"LZ4Block" + bytes([0x12]) + bytes(12))
    return made.getvalue()


def test_a_missing_package_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "app.zstd").touch()
    with pytest.raises(SpringbokError, match=r"needs a package: pip install 'springbok\[logs\]'"):
        list(files.lines((tmp_path / "app.zstd",)))
    with pytest.raises(SpringbokError, match="compressed with snappy, which is not read"):
        (tmp_path / "app.snappy").touch()
        list(files.lines((tmp_path / "app.snappy",)))


def test_blocks_of_another_format_are_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("lz4.block")
    (tmp_path / "app.lz4").write_bytes(b"\x04\x22\x4d\x18 the frame format")
    with pytest.raises(SpringbokError, match="does not have the blocks that Spark's codec lz4 writes"):
        list(files.lines((tmp_path / "app.lz4",)))


@pytest.mark.parametrize(("codec", "package"), [("zstd", "zstandard"), ("lz4", "lz4.block")])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, codec: str, package: str) -> None:
    pytest.importorskip(package)
    head = b"LZ4Block\x25" + (8).to_bytes(4, "little") * 2 + bytes(4) if codec == "lz4" else b"\x28\xb5\x2f\xfd"
    (tmp_path / f"app.{codec}").write_bytes(head + b"\xff" * 50)
    with pytest.raises(SpringbokError, match=f"The event log .*app.{codec} cannot be read"):
        list(files.lines((tmp_path / f"app.{codec}",)))


def test_nothing_is_kept_of_an_execution_that_has_ended() -> None:
    reader = Reader()
    assert len(list(reader.read(lines((WITHOUT,))))) == 2
    assert reader._running == {} and reader._by_stage == {}


def test_a_fleet_sums_reports_and_compares_runs() -> None:
    found = fleet(logs([LOGS]))
    sums = {name: found.total[name] for name in ("queries", "joins", "joins_changed", "filters_used", "failures")}
    assert sums == {"queries": 1, "joins": 1, "joins_changed": 1, "filters_used": 1, "failures": 0}
    assert found.total["rows_removed"] > 3_000_000 and found.total["core_ms"] > 0
    [application] = found.applications.values()
    assert application == found.total


def test_runs_of_a_query_are_compared_whatever_its_literals_are(tmp_path: Path) -> None:
    for name, path, said in (("a", WITHOUT, "q4 spark"), ("b", WITH, "q4 springbok")):
        (tmp_path / name).write_text(path.read_text().replace(said, f"orders of {len(said)}, 'x{said}'"))
    [same] = fleet(logs([tmp_path])).compared
    assert same.runs_before == same.runs_after == 1 and same.before > same.after and same.ratio > 1
    assert same.query.startswith("orders of ?, ? default.lineitem(l_commitdate, l_orderkey, l_receiptdate)")


def test_a_report_of_another_format_is_counted(tmp_path: Path) -> None:
    event = {"Event": "org.apache.spark.sql.springbok.report.SpringbokReportEvent", "executionId": 1}
    (tmp_path / "log").write_text(json.dumps(event | {"report": '{"version":1}'}, separators=(",", ":")) + "\n")
    assert fleet(logs([tmp_path])).total["unreadable"] == 1


def test_a_terminal_gets_progress_and_lines_that_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["qualify", str(LOGS)]) == 0
    piped = capsys.readouterr()
    assert piped.err == "" and any(len(line) > 110 for line in piped.out.splitlines())
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["qualify", str(LOGS)]) == 0
    said = capsys.readouterr()
    rows = [line for line in said.out.splitlines() if line.startswith("   ")]
    assert rows and all(len(line) <= 80 for line in rows)
    assert "reading log 2: without, " in said.err and said.err.endswith("\r\x1b[K") and "\n" not in said.err


@pytest.mark.parametrize("command", ["qualify", "fleet"])
def test_the_commands_write_text_a_page_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    page, data = tmp_path / "page.html", tmp_path / "data.json"
    assert main([command, str(LOGS), "--html", str(page), "--json", str(data)]) == 0
    said = capsys.readouterr().out
    assert "springbok-benchmarks" in said and all(len(line) < 200 for line in said.splitlines())
    assert page.read_text().count("<table") >= 1 and "springbok-benchmarks" in data.read_text()
    json.loads(data.read_text())


@pytest.mark.parametrize("command", ["qualify", "fleet"])
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    for path, said in ((tmp_path / "none", "There is no event log"), (tmp_path, "give the folder that")):
        assert main([command, str(path)]) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1


def test_the_study_compares_what_is_expected_with_what_was_measured() -> None:
    measured = {
        "q4": {"spark": [(6.0, 8.0), (4.0, 6.0)], "springbok": [(2.0, 2.0), (3.0, 2.0)]},
        "q14": {"spark": [(2.0, 3.0), (2.0, 3.0)], "springbok": [(2.1, 3.0), (2.0, 3.0)]},
        "q6": {"spark": [(1.0, 1.0)], "springbok": [(1.0, 1.0)]},
        "q1": {"spark": [(1.0, 1.0)], "springbok": []},
    }
    ratios = study.compared(measured, WITHOUT)
    q4, q6 = ratios["q4"], ratios["q6"]
    assert (q4.wall, q4.each, q4.cpu) == (2.0, [3.0, 1.333], 3.5) and 1.2 < q4.least < q4.middle < q4.most
    assert (q6.least, q6.most) == (1, 1) and "q1" not in ratios
    head, row = study.table("tiny", measured, WITHOUT).rows
    assert dict(zip(head, row, strict=True))["queries"] == 3 and row[-1] == 0
    assert study.spearman([1, 2, 3], [10, 20, 15]) == pytest.approx(0.5)


@pytest.mark.slow
def test_a_large_log_takes_little_memory(tmp_path: Path) -> None:
    """200 MB in an address space of 300 MB."""
    head, *events = WITHOUT.read_bytes().splitlines(keepends=True)
    with (tmp_path / "log").open("wb") as log:
        log.write(head)
        while log.tell() < 200 << 20:
            log.writelines(events)
    command = [sys.executable, "-m", "springbok", "qualify", str(tmp_path / "log"), "--top", "3"]
    limit = 300 << 20
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 0 and "queries with stages" in done.stdout, done.stderr
