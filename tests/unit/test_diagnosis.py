"""What the doctor says of settings, and how checks are shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from springbok import Check, Checks
from springbok.diagnosis import _ENGINES, of_settings
from springbok.model import Resources
from springbok.reports import Report
from springbok.settings import known

GB = 1 << 30
REPORT = Report.from_json((Path(__file__).parents[1] / "golden" / "q3-executed.json").read_text(encoding="utf-8"))
CLUSTER = Resources(
    executors=4, cores_per_executor=8, executor_heap_bytes=16 * GB, driver_heap_bytes=8 * GB, shuffle_partitions=200
)
GROWS = {"spark.master": "yarn", "spark.dynamicAllocation.enabled": "true"}


def found(set_: dict[str, str], resources: Resources = CLUSTER) -> list[Check]:
    conf = {"spark.sql.extendedExplainProviders": "org.apache.spark.sql.springbok.report.SpringbokExplain"} | set_
    get = lambda key: conf.get(key, known().get(key, {}).get("default", ""))  # noqa: E731
    return list(of_settings(get, replace(REPORT, spark="4.2.1", resources=resources)))


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({}, []),
        ({"spark.springbok.report.events": "false"}, ["show no reports"]),
        ({"spark.sql.adaptive.customCostEvaluatorClass": "io.Own"}, ["counts runtime filters as shuffles"]),
        ({"spark.sql.extendedExplainProviders": "io.Own"}, ["EXPLAIN has no section"]),
        (GROWS, ["executors of the moment, now 4"]),
        (GROWS | {"spark.master": "local[4]"}, []),
        (GROWS | {"spark.springbok.cluster.executors": "40"}, []),
        (
            GROWS | {"spark.dynamicAllocation.shuffleTracking.enabled": "false"},
            ["executors of the moment", "executors that hold shuffle files"],
        ),
    ],
)
def test_settings(conf: dict[str, str], said: list[str]) -> None:
    warnings = [c for c in found(conf) if c.state == "warning"]
    assert len(warnings) == len(said) and all(s in c.what for s, c in zip(said, warnings, strict=True)), warnings
    assert all(c.advice for c in warnings)


@pytest.mark.parametrize(
    ("heap", "conf", "state", "advice"),
    [
        (8 * GB, {}, "ok", ""),
        (GB, {}, "ok", "spark.springbok.join.broadcastBytesLimit"),
        (GB, {"spark.springbok.join.broadcastBytesLimit": "unlimited"}, "ok", ""),
        (GB // 8, {}, "warning", "spark.sql.autoBroadcastJoinThreshold"),
        (GB // 8, {"spark.sql.autoBroadcastJoinThreshold": "-1"}, "ok", "spark.springbok"),
    ],
)
def test_heaps(heap: int, conf: dict[str, str], state: str, advice: str) -> None:
    [check] = [c for c in found(conf, replace(CLUSTER, driver_heap_bytes=heap)) if "smaller heap" in c.what]
    assert check.state == state and advice in check.advice and bool(advice) == bool(check.advice)


def test_the_history_server_needs_an_event_log_and_the_jar() -> None:
    assert "spark.eventLog.enabled=true" in found({})[-1].advice
    logged = found({"spark.eventLog.enabled": "true", "spark.eventLog.dir": "hdfs://logs"})[-1]
    assert "hdfs://logs" in logged.what and "SPARK_DAEMON_CLASSPATH" in logged.advice


def test_native_engines_of_a_server_are_known_by_name() -> None:
    extensions = "io.delta.sql.DeltaSparkSessionExtension,org.apache.comet.CometSparkSessionExtensions"
    assert _ENGINES.findall(f"{extensions},org.apache.gluten.GlutenPlugin,com.nvidia.spark.SQLPlugin") == [
        "org.apache.comet.CometSparkSessionExtensions",
        "org.apache.gluten.GlutenPlugin",
        "com.nvidia.spark.SQLPlugin",
    ]


def test_checks_are_text_html_and_data() -> None:
    checks = Checks([Check("ok", "a"), Check("warning", "b <c>", "Do d.")])
    assert str(checks).splitlines() == ["ok       a", "warning  b <c>", "         Do d.", "Springbok works here."]
    assert "<td>b &lt;c&gt;</td>" in checks._repr_html_() and "<script" not in checks._repr_html_()
    assert checks.to_dict()[1] == {"state": "warning", "what": "b <c>", "advice": "Do d."}
    assert str(Checks([Check("failed", "e")])).endswith("\nSpringbok cannot work here.")
