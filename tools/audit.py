"""Look the pinned Python dependencies up in the advisory database, if it can be reached: `make audit`.

Fails for a known vulnerability alone. Without a network, or without pip-audit, it says so and passes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def pinned(text: str) -> list[str]:
    """Every `name==version` of a pyproject.toml."""
    return sorted(set(re.findall(r'"([A-Za-z0-9._-]+==[0-9][^";]*)"', text)))


def vulnerable(report: str) -> list[str]:
    """The advisories in pip-audit's JSON, one sentence each."""
    return [
        f"{d['name']} {d['version']}: {v['id']}, fixed in {', '.join(v['fix_versions']) or 'no version yet'}"
        for d in json.loads(report)["dependencies"]
        for v in d.get("vulns", [])
    ]


def main() -> int:
    """1 if a pinned dependency has a known vulnerability."""
    pins = pinned((ROOT / "pyproject.toml").read_text())
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        requirements.write_text("\n".join(pins) + "\n")
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "-r",
            str(requirements),
            "--no-deps",
            "--disable-pip",
            "-f",
            "json",
        ]
        command += ["--timeout", "15", "--progress-spinner", "off"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            found = vulnerable(done.stdout)
        except (subprocess.TimeoutExpired, ValueError, KeyError):
            print("The advisory database cannot be reached, or pip-audit is not installed: nothing was audited.")
            return 0
    print("\n".join(found) or f"No known vulnerability in {len(pins)} pinned packages.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
