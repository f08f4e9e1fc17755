"""Table formats of a session: the settings that it needs, with the jars that the Scala tests of its Spark line use."""

from __future__ import annotations

import subprocess

import sbt

CATALOGS = {"delta": "spark_catalog", "iceberg": "lake"}
EXTENSIONS = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


def settings(form: str, line: str, warehouse: str) -> dict[str, str]:
    """What a session of a Spark line, such as 4.1, needs for tables of the format. The extension is apart.

    Raises:
        ValueError: the line has no release of the format.
    """
    catalog = f"spark.sql.catalog.{CATALOGS[form]}"
    own = {
        "delta": {catalog: "org.apache.spark.sql.delta.catalog.DeltaCatalog"},
        "iceberg": {
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "hadoop",
            f"{catalog}.warehouse": warehouse,
        },
    }
    return own[form] | {"spark.jars": ",".join(_jars(form, line)), "spark.databricks.delta.snapshotPartitions": "1"}


def _jars(form: str, line: str) -> list[str]:
    scala = "2.12" if line == "3.5" else "2.13"
    command = sbt.command(
        [f"-Dspark={line}", f"-Dscala={scala}", "-error", "export springbok/Test/externalDependencyClasspath"]
    )
    run = subprocess.run(command, cwd=sbt.ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    found = [j for j in run.stdout.strip().splitlines()[-1].split(":") if f"/{form}-" in j or "/io/delta/" in j]
    if not found:
        raise ValueError(f"There is no release of {form} for Spark {line}.")
    return found
