"""`python -m springbok doctor`: is everything there that Springbok needs, and does a setting work against it?"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from springbok._jvm import first_line, is_active, refusal
from springbok.cli.local import quiet_session
from springbok.errors import SpringbokError
from springbok.jar import PYSPARK, Spark, find, installed, java, missing
from springbok.reports import report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JOIN = "SELECT count(*) FROM range(1000) a JOIN range(10) b ON a.id = b.id"

# Settings that work against Springbok: the value that does, and its effect.
_CONFLICTS = {
    "spark.sql.adaptive.enabled": ("false", "no runtime filters are made, and no decision is revised at run time"),
    "spark.springbok.enabled": ("false", "Springbok is switched off"),
    "spark.springbok.join.enabled": ("false", "join strategies are Spark's own"),
    "spark.springbok.runtimeFilter.mode": ("OFF", "no runtime filters are made"),
}
_EVALUATOR = "spark.sql.adaptive.customCostEvaluatorClass"


@dataclass(frozen=True)
class Check:
    """What was checked: ok, warning or failed, and what to do."""

    state: str
    what: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.state:<8} {self.what}" + (f"\n         {self.advice}" if self.advice else "")


def run(say: Callable[[str], None] = print) -> int:
    """Check everything and say what was found; 1 if Springbok cannot work here, else 0."""
    failed = False
    for check in checks():
        say(str(check))
        failed = failed or check.state == "failed"
    say("Springbok cannot work here." if failed else "Springbok works here.")
    return 1 if failed else 0


def checks() -> Iterator[Check]:
    """All checks; those that need a session end with one that starts."""
    yield Check("ok", f"Python {sys.version_info.major}.{sys.version_info.minor}")
    try:
        own = installed()
    except SpringbokError:
        found = [Check("failed", "PySpark is not installed", PYSPARK)]
    else:
        found = [Check("ok", f"{own} in {own.home or 'PySpark'}"), _java(own), _jar(own)]
    yield from found
    if any(c.state == "failed" for c in found):
        yield Check("warning", "no session was started", "Fix what failed above and run the doctor again.")
        return
    try:
        with quiet_session("local[1]", "1g", "springbok-doctor") as session:
            yield from list(of_session(session))
    except Exception as e:
        first = first_line(e)[:200]
        yield Check("failed", f"a local Spark session does not start: {first}", "Its log above says why.")


def of_session(spark: SparkSession) -> Iterator[Check]:
    """Whether the extension works in a session, and the settings that work against it."""
    if not is_active(spark):
        yield Check(
            "failed",
            "the extension is not active in a session",
            refusal(spark) or "Is spark.sql.extensions set elsewhere, or spark.jars without Springbok's jar?",
        )
        return
    yield Check("ok", f"the extension is active in Spark {spark.version}")
    conf = spark.conf
    df = spark.sql(_JOIN)
    df.collect()
    if joins := ", ".join(j.strategy or "" for j in report(df).joins if j.reason):
        yield Check("ok", f"a join was planned: {joins}")
    elif conf.get("spark.springbok.enabled") == "true":
        yield Check("failed", "a join was not planned", "The log has a warning of the rule that failed.")
    for key, (value, effect) in _CONFLICTS.items():
        if (conf.get(key, None) or "").lower() == value.lower():
            yield Check("warning", f"{key} is {value}: {effect}", f"Take {key} away.")
    evaluator = conf.get(_EVALUATOR, None) or ""
    if evaluator and "springbok" not in evaluator:
        yield Check(
            "warning",
            f"{_EVALUATOR} is {evaluator}, which counts runtime filters as shuffles",
            "Plans with filters may be rejected at run time; take it away if you can.",
        )
    if not Spark(spark.version).explains:
        yield Check("ok", f"EXPLAIN of Spark {spark.version} takes no section: Springbok's is in springbok.report(df)")


def _java(spark: Spark) -> Check:
    # tools/sbt.py has a check of its own: it runs before this package is installed, and wants a whole JDK.
    versions = (17, 21) if spark.numbers >= (4, 0) else (8, 11, 17)
    wanted = f"{', '.join(map(str, versions[:-1]))} or {versions[-1]}"
    exe = java()
    if not exe:
        return Check("failed", "no Java found", f"Install Java {wanted}, or point JAVA_HOME at it.")
    text = subprocess.run([exe, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    major = int(found.group(1)) if found else 0
    if major in versions:
        return Check("ok", f"Java {major} ({exe})")
    state = "failed" if major < versions[0] else "warning"
    return Check(state, f"Java {major or 'of an unknown version'} ({exe})", f"Spark {spark.line} needs Java {wanted}.")


def _jar(spark: Spark) -> Check:
    path = find(spark)
    if path is None:
        return Check("failed", "no jar", f"{missing(spark)}.")
    scala = f" for Scala {spark.scala}" if spark.scala else ", of unknown Scala"
    return Check("ok", f"jar {path}, because this is Spark {spark.line}{scala}")
