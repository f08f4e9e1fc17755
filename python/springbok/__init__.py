"""Springbok: the join planning of an MPP engine for Spark SQL.

>>> import springbok
>>> spark = springbok.configure(SparkSession.builder).getOrCreate()
>>> df = spark.sql("...")
>>> print(springbok.report(df))
"""

from __future__ import annotations

from importlib import metadata

from springbok._server import is_active
from springbok.comparison import Comparison, compare
from springbok.diagnosis import Check, Checks, doctor
from springbok.errors import CheckFailed, SpringbokError
from springbok.explanations import why_not
from springbok.jar import jar_path
from springbok.reports import Report, last_reports, report
from springbok.session import configure, disabled

__all__ = [
    "Check",
    "CheckFailed",
    "Checks",
    "Comparison",
    "Report",
    "SpringbokError",
    "__version__",
    "compare",
    "configure",
    "disabled",
    "doctor",
    "is_active",
    "jar_path",
    "last_reports",
    "report",
    "why_not",
]

try:
    __version__ = metadata.version("springbok")
except metadata.PackageNotFoundError:  # a source tree that was never installed
    __version__ = "unknown"
