"""What needs no running Spark: the jar, wrong settings, commands that end at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import springbok
from pyspark.sql import SparkSession
from springbok import settings


def test_one_jar_for_each_line() -> None:
    jar = Path(springbok.jar_path())
    assert jar.exists()
    jars = [p.name.rsplit("-", 1)[0] for p in jar.parent.glob("*.jar")]
    assert len(jars) == len(set(jars))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"runtimeFilter_mod": "OFF"}, "nearest one is spark.springbok.runtimeFilter.mode"),
        ({"runtimeFilter_mode": "SOMETIMES"}, "OFF or LOCAL or GLOBAL"),
        ({"enabled": "perhaps"}, "true or false"),
        ({"join_broadcastBytesLimit": "much"}, "a size such as 64m or -1"),
        ({"runtimeFilter_inLimit": -1}, "a whole number"),
    ],
)
def test_a_wrong_setting_is_one_sentence(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(springbok.SpringbokError, match=message):
        springbok.configure(SparkSession.Builder(), **wrong)


def test_a_value_beside_those_of_its_kind() -> None:
    key = "spark.springbok.join.broadcastBytesLimit"
    assert settings.checked({"join_broadcastBytesLimit": -1}) == {key: "-1"}


def test_the_jar_command() -> None:
    done = subprocess.run([sys.executable, "-m", "springbok", "jar"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == springbok.jar_path()


def test_an_unknown_query_of_the_demo_is_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "springbok", "demo", "--queries", "q99"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "q99" in done.stderr and "Traceback" not in done.stderr
