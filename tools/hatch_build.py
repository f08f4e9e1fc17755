"""Wheel build hook: sbt makes the jar, and exactly one jar goes into the package."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import jar


class JarHook(BuildHookInterface):  # type: ignore[misc]
    """Puts the jar beside the Python sources before the wheel is assembled."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling for wheels, editable ones too."""
        if self.target_name == "wheel":
            jar.build()

    def clean(self, versions: list[str]) -> None:
        """Called by `hatch clean`."""
        shutil.rmtree(jar.FOLDER, ignore_errors=True)
