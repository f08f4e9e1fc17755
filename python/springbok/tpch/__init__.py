"""TPC-H: its queries, and its tables as Parquet made on this machine. For the demo, the tour, tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from springbok.errors import SpringbokError
from springbok.session import temporarily

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
QUERIES = tuple(f"q{i}" for i in range(1, 23))


def query(name: str) -> str:
    """The text of a query."""
    return (files("springbok.tpch") / f"{name}.sql").read_text(encoding="utf-8")


def load(spark: SparkSession, folder: Path, *, first_files: bool = False) -> None:
    """Make the tables of a folder temporary views; with `first_files`, each has only its first file."""
    for t in TABLES:
        path = folder / f"{t}.parquet"
        if first_files and path.is_dir():
            path = min(path.glob("part-*"))
        spark.read.parquet(str(path)).createOrReplaceTempView(t)


def generate(root: Path, scale: float, say: Callable[[str], object] = print) -> Path:
    """The folder with the tables of this scale, a Parquet file each, made if it is not there.

    Raises:
        SpringbokError: the generator is not installed, or it fails.
    """
    folder = root / "tpch" / f"sf{scale:g}"
    if _complete(folder):
        return folder
    exe = shutil.which("tpchgen-cli", path=os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", ""))))
    if exe is None:
        raise SpringbokError("The demo needs tpchgen-cli: pip install 'springbok[demo]'.")
    say(f"Generating TPC-H at scale {scale:g} in {folder} (kept for the next run)")
    with _making(folder) as part:
        command = [exe, "parquet", "-s", f"{scale:g}", "-o", str(part), "-q"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SpringbokError(f"tpchgen-cli failed: {done.stderr.strip()[-300:]}")
    return folder


def written_by_spark(spark: SparkSession, generated: Path, say: Callable[[str], object] = print) -> Path:
    """The folder with the same tables as Spark's writer writes them, several files each, made if it is not there."""
    folder = generated.with_name(generated.name + "-spark")
    if _complete(folder):
        return folder
    say(f"Writing the tables by Spark to {folder} (kept for the next run)")
    # A task for each 32 MB, and a file for each task: several for a large table already at scale 1.
    with _making(folder) as part, temporarily(spark, {"spark.sql.files.maxPartitionBytes": "32m"}):
        for t in TABLES:
            spark.read.parquet(str(generated / f"{t}.parquet")).write.parquet(str(part / f"{t}.parquet"))
    return folder


def _complete(folder: Path) -> bool:
    return all((folder / f"{t}.parquet").exists() for t in TABLES)


@contextmanager
def _making(folder: Path) -> Iterator[Path]:
    """Another folder to write to, which gets its name at the end: what is there is whole."""
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    part.rename(folder)
