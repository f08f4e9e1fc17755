"""Fetches the jars of a Spark that Maven does not serve: they are in PySpark's source distribution."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import lines
import maven
import sbt


def fetch(version: str, folder: Path) -> None:
    """Fill the folder with the jars of this PySpark, unless it is there.

    Raises:
        sbt.BuildError: pip cannot download it.
    """
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as tmp:
        print(f"springbok build: fetching the jars of PySpark {version}", file=sys.stderr, flush=True)
        unpacked = Path(tmp) / "jars"
        _unpack(_download(version, Path(tmp)), unpacked)
        unpacked.rename(folder)


def _download(version: str, folder: Path) -> Path:
    pip = [maven.environment(folder), "-m", "pip", "download", "-q", "--disable-pip-version-check"]
    what = ["--no-deps", "--no-binary", "pyspark", "--dest", str(folder), f"pyspark=={version}"]
    done = subprocess.run([*pip, *what], capture_output=True, text=True, check=False, env=maven.clean())
    found = list(folder.glob("pyspark-*.tar.gz"))
    if done.returncode != 0 or not found:
        raise sbt.BuildError(f"pip could not download PySpark {version}: {done.stderr.strip()[-500:]}")
    return found[0]


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir()
    with tarfile.open(archive) as tar:
        for member in tar:
            path = Path(member.name)
            if member.isfile() and path.suffix == ".jar" and path.parts[1:-1] == ("deps", "jars"):
                source = tar.extractfile(member)
                assert source is not None
                with source, (folder / path.name).open("wb") as target:
                    shutil.copyfileobj(source, target)


if __name__ == "__main__":
    try:
        for line in lines.every():
            if line.unmanaged:
                fetch(line.spark, lines.ROOT / line.unmanaged)
    except sbt.BuildError as e:
        sys.exit(f"springbok build: {e}")
