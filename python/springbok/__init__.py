"""Springbok: the join planning of an MPP engine for Spark SQL.

>>> import springbok
>>> spark = springbok.configure(SparkSession.builder).getOrCreate()
>>> df = spark.sql("...")
>>> print(springbok.report(df))
"""

from __future__ import annotations

from springbok.errors import SpringbokError
from springbok.report import Report, report
from springbok.session import configure, disabled, is_active, jar_path
from springbok.version import __version__

__all__ = [
    "Report",
    "SpringbokError",
    "__version__",
    "configure",
    "disabled",
    "is_active",
    "jar_path",
    "report",
]
