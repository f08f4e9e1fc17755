"""Wheel build hook: sbt makes the jars, by default one for the PySpark beside which the package is installed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import jar


class JarHook(BuildHookInterface):  # type: ignore[misc]
    """Puts the jars beside the Python sources before the wheel is assembled.

    SPRINGBOK_LINES names other lines: `SPRINGBOK_LINES=3.5_2.12,4.1 pip install .`, `all` or, empty, none.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling for wheels, editable ones too."""
        if self.target_name == "wheel":
            named = os.environ.get("SPRINGBOK_LINES")
            jar.build(list(filter(None, (jar.line_there() if named is None else named).split(","))))

    def clean(self, versions: list[str]) -> None:
        """Called by `hatch clean`."""
        shutil.rmtree(jar.FOLDER, ignore_errors=True)
