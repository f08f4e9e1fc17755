"""Springbok: the join planning of an MPP engine for Spark SQL.

>>> import springbok
>>> spark = springbok.configure(SparkSession.builder).getOrCreate()
>>> df = spark.sql("...")
>>> print(springbok.report(df))
"""

from __future__ import annotations

from springbok.compare import Comparison, compare
from springbok.errors import SpringbokError
from springbok.record import Report
from springbok.report import last_reports, report
from springbok.session import configure, disabled, is_active, jar_path
from springbok.version import __version__
from springbok.why import why_not

__all__ = [
    "Comparison",
    "Report",
    "SpringbokError",
    "__version__",
    "compare",
    "configure",
    "disabled",
    "is_active",
    "jar_path",
    "last_reports",
    "report",
    "why_not",
]
