"""What the fixtures of fake installations are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

# Makes a home of Spark for a Scala and a version.
FakeHome = Callable[[str, str], Path]
