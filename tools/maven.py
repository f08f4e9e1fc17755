"""Fetches a jar through Maven, once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


class FetchError(Exception):
    """Maven is missing, or could not fetch the jar."""


def jar(group: str, artifact: str, version: str, folder: Path) -> Path:
    """The artifact's jar in the folder.

    Raises:
        FetchError: it is not there yet, and Maven is missing or failed.
    """
    found = folder / f"{artifact}-{version}.jar"
    if found.exists():
        return found
    mvn = shutil.which("mvn")
    if not mvn:
        raise FetchError(f"Maven is not on the PATH: install it, it fetches {artifact}.")
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [mvn, "-q", "-B", "dependency:copy", f"-Dartifact={group}:{artifact}:{version}", f"-DoutputDirectory={folder}"],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    if not found.exists():
        raise FetchError(f"Maven could not fetch {artifact}: {(done.stdout + done.stderr).strip()[-500:]}")
    return found
