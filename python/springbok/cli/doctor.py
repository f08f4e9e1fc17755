"""`python -m springbok doctor`: is everything there that Springbok needs, and does a session of its own work?"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator

from springbok._jvm import first_line
from springbok.cli.local import quiet_session
from springbok.diagnosis import Check, Checks, of_session
from springbok.errors import SpringbokError
from springbok.jar import PYSPARK, Spark, find, installed, java, missing


def run(say: Callable[[str], None] = print) -> int:
    """Check everything and say what was found; 1 if Springbok cannot work here, else 0."""
    found = Checks()
    for check in checks():
        say(str(check))
        found.append(check)
    say(str(found).splitlines()[-1])
    return 1 if any(c.state == "failed" for c in found) else 0


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
