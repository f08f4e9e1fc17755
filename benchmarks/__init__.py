"""Springbok measured: suites, layouts and arms, run by `python -m benchmarks` from the repository's root."""

import sys
from pathlib import Path

# The tools are no package.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))
