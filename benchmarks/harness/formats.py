"""A suite's tables in a format, written by Spark; `files` are those that the suite's generator has written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import lake
from springbok.errors import SpringbokError
from springbok.jar import installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("files", "parquet", "delta", "iceberg")


def settings(form: str, source: Path) -> dict[str, str]:
    """What a session needs for the tables of a folder in the format.

    Raises:
        SpringbokError: the running Spark has no release of the format.
    """
    if form in ("files", "parquet"):
        return {}
    try:
        own = lake.settings(form, installed().line, str(_beside(source, form).resolve()))
    except ValueError as e:
        raise SpringbokError(str(e)) from e
    return own | {"spark.sql.extensions": lake.EXTENSIONS[form], "spark.sql.defaultCatalog": lake.CATALOGS[form]}


def create(spark: SparkSession, form: str, source: Path) -> None:
    """Tables with the rows of a folder's Parquet files, in the order of those files; each is written once."""
    spark.sql("CREATE DATABASE IF NOT EXISTS default")
    for path in sorted(source.glob("*.parquet")):
        if not spark.catalog.tableExists(f"default.{path.stem}"):
            if form == "iceberg":
                spark.read.parquet(str(path)).writeTo(f"default.{path.stem}").using(form).create()
            else:
                _at(spark, form, path, _beside(source, form) / path.stem)


def _at(spark: SparkSession, form: str, path: Path, target: Path) -> None:
    if not target.exists():
        part = target.with_name(target.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        spark.read.parquet(str(path)).write.format(form).save(str(part))
        part.rename(target)
    spark.sql(f"CREATE TABLE `{path.stem}` USING {form} LOCATION '{target.resolve()}'")


def _beside(source: Path, form: str) -> Path:
    return source.with_name(f"{source.name}-{form}")
