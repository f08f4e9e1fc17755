"""The installed version, as the wheel's metadata has it (from the file VERSION)."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("springbok")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "unknown"
