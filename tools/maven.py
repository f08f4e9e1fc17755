"""Fetches a jar from Maven's repository, once: by Maven where it is installed, else by jgo, which pip installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import venv
from pathlib import Path

# The client of Maven's repository that pip installs.
JGO = "jgo==3.2.0"
_RESOLVE = """
import pathlib, sys
from jgo.maven import MavenContext
group, artifact, version, classifier, cache = sys.argv[1:]
found = MavenContext(repo_cache=pathlib.Path(cache)).project(group, artifact).at_version(version)
print(found.artifact(classifier=classifier).resolve())
"""


class FetchError(Exception):
    """The jar could not be fetched."""


def jar(group: str, artifact: str, version: str, folder: Path, classifier: str = "") -> Path:
    """The artifact's jar in the folder.

    Raises:
        FetchError: it is not there yet, and cannot be fetched.
    """
    found = folder / f"{artifact}-{version}{classifier and '-' + classifier}.jar"
    if found.exists():
        return found
    folder.mkdir(parents=True, exist_ok=True)
    # Maven knows the mirrors and credentials of this machine.
    if mvn := shutil.which("mvn"):
        name = f"{group}:{artifact}:{version}{classifier and ':jar:' + classifier}"
        command = [mvn, "-q", "-B", "dependency:copy", f"-Dartifact={name}", f"-DoutputDirectory={folder}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    else:
        with tempfile.TemporaryDirectory(dir=folder) as tmp:
            python = environment(Path(tmp))
            done = _run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", JGO)
            if done.returncode == 0:
                done = _run(python, "-c", _RESOLVE, group, artifact, version, classifier, f"{tmp}/cache")
            if done.returncode == 0:
                Path(done.stdout.split("\n")[-2]).rename(found)
    if not found.exists():
        said = (done.stdout + done.stderr).strip()[-500:]
        raise FetchError(f"{artifact} {version} could not be fetched from Maven's repository: {said}")
    return found


def environment(folder: Path) -> str:
    """The Python of a new environment with pip, which that of a build hook lacks."""
    venv.create(folder / "env", with_pip=True)
    return str(folder / "env" / "bin" / "python")


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, env=clean())


def clean() -> dict[str, str]:
    """The environment without what would make pip see another Python's packages."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
