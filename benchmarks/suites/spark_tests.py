"""Spark's published tests jar: texts of the TPC-DS and SSB queries, and the schema of TPC-DS."""

from __future__ import annotations

import re
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from springbok.errors import SpringbokError
from springbok.jar import installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).resolve().parents[2]
# The newest line whose tests jar Maven serves; later ones take it as well.
_NEWEST = (4, 2)
_NAME = re.compile(r"(\D*)([\d.]+)(\D*)")


@cache
def jar() -> Path:
    """The jar for the minor version of Spark in use, fetched once into .cache.

    Raises:
        SpringbokError: it cannot be fetched.
    """
    sys.path.append(str(_ROOT / "tools"))
    import maven

    spark = installed()
    line = ".".join(map(str, min(spark.numbers, _NEWEST))) + ".0"
    artifact = f"spark-sql_{spark.scala or '2.13'}"
    try:
        return maven.jar("org.apache.spark", artifact, line, _ROOT / ".cache", "tests")
    except maven.FetchError as e:
        raise SpringbokError(str(e)) from e


@cache
def texts(folder: str) -> dict[str, str]:
    """The query texts of a folder of the jar, `tpcds` or `ssb`, by name and in the order of their numbers."""
    with zipfile.ZipFile(jar()) as z:
        names = [n for n in z.namelist() if re.fullmatch(rf"{folder}/[^/]+\.sql", n)]
        found = {Path(n).stem: z.read(n).decode() for n in names}
    return dict(sorted(found.items(), key=lambda item: _number(item[0])))


def _number(name: str) -> tuple[str, float, str]:
    m = _NAME.fullmatch(name)
    return (m.group(1), float(m.group(2)), m.group(3)) if m else (name, 0, "")


def tpcds_schema(spark: SparkSession) -> dict[str, list[tuple[str, str]]]:
    """Columns and SQL types of each TPC-DS table as in Spark's own tests.

    The jar gets its own class loader: in the session's class loader its test settings would take effect.
    """
    jvm: Any = spark._jvm
    gateway: Any = spark._sc._gateway
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(str(jar())).toURI().toURL()
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader = jvm.java.net.URLClassLoader(urls, parent)
    helper = loader.loadClass("org.apache.spark.sql.execution.benchmark.TPCDSSchemaHelper$")
    tables = helper.getField("MODULE$").get(None).tableColumns()
    schema: dict[str, list[tuple[str, str]]] = {}
    rows = tables.iterator()
    while rows.hasNext():
        row = rows.next()
        schema[row._1()] = re.findall(r"`(\w+)`\s+(\w+(?:\(\s*\d+(?:\s*,\s*\d+)?\s*\))?)", row._2())
    return schema
