"""What needs no running Spark: the jar, wrong settings, commands that end at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import springbok
from pyspark.sql import SparkSession
from springbok import settings
from springbok._jvm import living
from springbok.comparison import answer


def test_one_jar_for_each_line() -> None:
    jar = Path(springbok.jar_path())
    assert jar.exists()
    jars = [p.name.rsplit("-", 1)[0] for p in jar.parent.glob("*.jar")]
    assert len(jars) == len(set(jars))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"runtimeFilter_mod": "OFF"}, "runtimeFilter_mod is not .* nearest one is runtimeFilter_mode"),
        ({"spark.springbok.runtimeFilter.mod": "OFF"}, "nearest one is spark.springbok.runtimeFilter.mode"),
        ({"join_broadcastByteLimit": "1g"}, "nearest one is join_broadcastBytesLimit"),
        ({"runtimeFilter_mode": "SOMETIMES"}, "OFF or LOCAL or GLOBAL"),
        ({"enabled": "perhaps"}, "true or false"),
        (
            {"join_broadcastBytesLimit": "much"},
            "join_broadcastBytesLimit cannot be 'much': it takes a size such as 64m or -1",
        ),
        ({"runtimeFilter_inLimit": -1}, "a whole number"),
        ({"runtimeFilter_mode": "OFF,LOCAL"}, "OFF or LOCAL or GLOBAL"),
        ({"cluster_executorMemory": "1.5g"}, "a size such as 64m"),
    ],
)
def test_a_wrong_setting_is_one_sentence(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(springbok.SpringbokError, match=message):
        springbok.configure(SparkSession.Builder(), **wrong)


def test_a_value_beside_those_of_its_kind() -> None:
    key = "spark.springbok.join.broadcastBytesLimit"
    assert settings.checked({"join_broadcastBytesLimit": -1}) == {key: "-1"}


def test_values_that_python_writes_in_its_own_way() -> None:
    given = {"runtimeFilter_bloom_falsePositiveRate": 0.00001, "runtimeFilter_types": ["IN", "BLOOM"], "enabled": False}
    assert list(settings.checked(given).values()) == ["1e-05", "IN,BLOOM", "false"]


def test_a_remote_session_only_gets_settings() -> None:
    # The jar and the extension are the server's.
    builder = springbok.configure(SparkSession.Builder().remote("sc://example.org"), runtimeFilter_mode="LOCAL")
    assert builder._options == {"spark.remote": "sc://example.org", "spark.springbok.runtimeFilter.mode": "LOCAL"}


def test_the_jar_command() -> None:
    done = subprocess.run([sys.executable, "-m", "springbok", "jar"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == springbok.jar_path()


def test_an_unknown_query_of_the_demo_is_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "springbok", "demo", "--queries", "q99"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "q99" in done.stderr and "Traceback" not in done.stderr


def test_answers_are_equal_to_nine_digits_at_any_depth() -> None:
    rows = [[({"b": [0.1 + 0.2], "a": 1}, None)], [({"a": 1, "b": [0.3]}, None)]]
    assert answer([rows[0]]) == answer([rows[1]])


def test_a_jvm_that_has_ended() -> None:
    with pytest.raises(springbok.SpringbokError, match="has ended: restart Python"), living():
        raise ConnectionRefusedError(111, "Connection refused")
