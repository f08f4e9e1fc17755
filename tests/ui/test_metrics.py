"""Springbok's counters in Spark's metrics system, as Prometheus reads them."""

from __future__ import annotations

import re
from pathlib import Path

from ui import history

SINK = "spark.metrics.conf.*.sink.prometheusServlet"
COUNTER = re.compile(r"^metrics_\w+_driver_springbok_(\w+?)_Count\{[^}]*\} (\d+)", re.MULTILINE)


def test_counters_are_served_to_prometheus(tmp_path: Path) -> None:
    conf = (
        "spark.ui.prometheus.enabled=true",
        f"{SINK}.class=org.apache.spark.metrics.sink.PrometheusServlet",
        f"{SINK}.path=/metrics/prometheus",
    )
    with history.job(tmp_path, *conf) as url:
        text = history.until(f"{url}/metrics/prometheus", lambda t: ("queries", "1") in COUNTER.findall(t))
        counters = {name: int(value) for name, value in COUNTER.findall(text)}
    assert set(counters) == {"queries", "joinsChanged", "filtersUsed", "rowsRemoved", "ruleTimeMs", "failures"}
    assert counters["filtersUsed"] == 1 and counters["failures"] == 0
