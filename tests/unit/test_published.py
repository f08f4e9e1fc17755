"""Files that run elsewhere: workflows, forms and examples, against their schemas and against what makes them."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lines import every
from ruamel.yaml import YAML
from springbok.__main__ import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def _yaml(path: str) -> Any:
    return YAML(typ="safe").load(ROOT / path)


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("dependabot", ".github/dependabot.yml"),
        ("compose-spec", "examples/compose/compose.yaml"),
    ],
)
def test_a_file_is_as_its_schema_says(schema: str, pattern: str) -> None:
    files = [str(f) for f in ROOT.glob(pattern)]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert files and done.returncode == 0, done.stdout


def test_workflows_run_targets_that_there_are_on_every_line() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for target in re.findall(r"- run: make ([\w-]+)", workflow.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), (workflow.name, target)
    matrix = _yaml(".github/workflows/nightly.yml")["jobs"]["lines"]["strategy"]["matrix"]
    assert [li.label for li in every() if not {li.label, li.name} & set(matrix["line"])] == []


def _conf(capsys: pytest.CaptureFixture[str], form: str, jar: str) -> str:
    assert main(["conf", "--format", form, "--defaults", "/dev/null", "--jar", jar]) == 0
    return capsys.readouterr().out.strip()


def test_examples_have_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    emr = (EXAMPLES / "emr" / "configurations.json").read_text(encoding="utf-8")
    assert emr.strip() == _conf(capsys, "emr", "s3://bucket/springbok.jar")
    dataproc = (EXAMPLES / "dataproc" / "create-cluster.sh").read_text(encoding="utf-8")
    assert _conf(capsys, "dataproc", "gs://bucket/springbok.jar") in dataproc
    dbt = YAML(typ="safe").load(_conf(capsys, "dbt", "/opt/springbok/springbok.jar"))
    assert _yaml("examples/dbt/profiles.yml")["revenue"]["outputs"]["dev"].items() >= dbt.items()
    k8s = YAML(typ="safe").load(_conf(capsys, "k8s", "s3a://bucket/springbok.jar"))
    assert _yaml("examples/kubernetes/job.yaml")["spec"].items() >= k8s.items()


def test_every_example_is_listed() -> None:
    listed = re.findall(r"^\| \[.*?\]\((\w[\w-]*)/", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(f.name for f in EXAMPLES.iterdir() if f.is_dir())
    ast.parse((EXAMPLES / "airflow" / "gate.py").read_text(encoding="utf-8"))


def test_dashboard_and_alerts_use_counters_that_there_are() -> None:
    rules = (EXAMPLES / "monitoring" / "alerts.yml").read_text()
    dashboard = json.loads((EXAMPLES / "monitoring" / "grafana.json").read_text())
    used = re.findall(r"metrics_spark_driver_springbok_(\w+?)_Count", rules + json.dumps(dashboard))
    source = (ROOT / "jvm/src/main/scala/org/apache/spark/sql/springbok/report/Executions.scala").read_text()
    assert set(used) == set(re.findall(r'(?:counter|since)\("(\w+)"\)', source))
    assert all(p["targets"] for p in dashboard["panels"])
    assert {r["labels"]["severity"] for r in _yaml("examples/monitoring/alerts.yml")["groups"][0]["rules"]}
