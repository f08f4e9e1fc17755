"""Opens pages in headless Chromium without a network, for tests and for the pictures in docs/."""

from __future__ import annotations

import shutil
import subprocess
import tempfile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def browse(url: str, *args: str) -> str:
    """What Chromium prints when it opens a page with these arguments."""
    with tempfile.TemporaryDirectory() as profile:
        command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *args, url]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def screenshot(url: str, target: str, *, dark: bool, width: int = 1320, height: int = 1500) -> None:
    """Write a picture of a page in one of the colour schemes; width and height are in points."""
    scheme = ("--blink-settings=preferredColorScheme=0",) if dark else ()
    browse(url, f"--screenshot={target}", f"--window-size={width},{height}", *scheme)
