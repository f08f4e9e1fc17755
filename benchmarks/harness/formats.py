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
    """Tables of the current database with the rows of a folder's Parquet files, in the order of those files."""
    for path in sorted(source.glob("*.parquet")):
        if form == "iceberg":
            if not spark.catalog.tableExists(path.stem):
                spark.read.parquet(str(path)).writeTo(path.stem).using(form).create()
            continue
        location = path if form == "files" else _written(spark, form, path)
        provider = "parquet" if form == "files" else form
        spark.sql(f"CREATE TABLE IF NOT EXISTS `{path.stem}` USING {provider} LOCATION '{location.resolve()}'")
        if path.is_dir() and provider == "parquet":
            spark.sql(f"ALTER TABLE `{path.stem}` RECOVER PARTITIONS")


def _written(spark: SparkSession, form: str, path: Path) -> Path:
    """The same rows in the format, by Spark; written once, with one folder a day where the rows are stored so."""
    target = _beside(path.parent, form) / path.stem
    if not target.exists():
        part = target.with_name(target.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        writer = spark.read.parquet(str(path)).write.format(form)
        day = next(path.glob("*=*"), None)
        (writer.partitionBy(day.name.partition("=")[0]) if day else writer).save(str(part))
        part.rename(target)
    return target


def _beside(source: Path, form: str) -> Path:
    return source.with_name(f"{source.name}-{form}")
