"""`python -m springbok conf`: the settings that switch Springbok on, merged with those that are there."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path

from springbok import jar
from springbok.errors import SpringbokError
from springbok.session import EXTENSION, joined, outer_conf, properties
from springbok.settings import checked

# What the settings are added to, where there are some.
_LISTS = ("spark.jars", "spark.sql.extensions")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("--format", choices=FORMATS, default="properties", help="(default: properties)")
    parser.add_argument(
        "--jar", help="path or URL of the jar as the cluster sees it (default: the jar of this package)"
    )
    parser.add_argument(
        "--defaults", type=Path, help="the spark-defaults.conf to merge with (default: as Spark finds it)"
    )
    of_spark(parser)
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="such as runtimeFilter.mode=LOCAL")


def of_spark(parser: argparse.ArgumentParser) -> None:
    """Declare the options that name a Spark."""
    parser.add_argument("--spark", help="the Spark that it is for, such as 3.5 (default: the one that PySpark starts)")
    parser.add_argument("--scala", help="the Scala of that Spark, such as 2.12")


def run(args: argparse.Namespace) -> int:
    """Print the settings.

    Raises:
        SpringbokError: there is no jar for this Spark, a file cannot be read, or a setting is wrong.
    """
    own = {k.strip(): v.strip() for k, _, v in (s.partition("=") for s in args.settings)}
    there = _there(args.defaults)
    lists = zip(_LISTS, (args.jar or jar.jar_path(args.spark, args.scala), EXTENSION), strict=True)
    print(FORMATS[args.format]({key: joined(there.get(key, ""), item) for key, item in lists} | checked(own)))
    return 0


def _there(defaults: Path | None) -> dict[str, str]:
    if defaults is None:
        home = None
        with contextlib.suppress(SpringbokError):  # without PySpark, SPARK_CONF_DIR may still name the folder
            home = jar.installed().home
        return outer_conf(home)
    try:
        return properties(defaults)
    except OSError as e:
        raise SpringbokError(f"The settings cannot be read from {defaults}: {e.strerror}.") from e


def _submit(conf: dict[str, str]) -> str:
    options = [f"--jars {shlex.quote(conf['spark.jars'])}"]
    options += [f"--conf {shlex.quote(f'{key}={value}')}" for key, value in conf.items() if key != "spark.jars"]
    return " \\\n  ".join(["spark-submit", *options])


def _dataproc(conf: dict[str, str]) -> str:
    # gcloud takes lists between commas, unless another mark is named first.
    return "--properties=" + shlex.quote("^#^" + "#".join(f"spark:{key}={value}" for key, value in conf.items()))


def _yaml(key: str, conf: dict[str, str]) -> str:
    # A text of JSON is one of YAML.
    return "\n".join([f"{key}:", *(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in conf.items())])


FORMATS: dict[str, Callable[[dict[str, str]], str]] = {
    "submit": _submit,
    "properties": lambda conf: "\n".join(f"{key}  {value}" for key, value in conf.items()),
    "emr": lambda conf: json.dumps([{"Classification": "spark-defaults", "Properties": conf}], indent=2),
    "dataproc": _dataproc,
    "k8s": lambda conf: _yaml("sparkConf", conf),
    "dbt": lambda conf: _yaml("server_side_parameters", conf),
}
