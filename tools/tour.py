"""Runs docs/tour.ipynb and writes it with its outputs; takes the pictures of a report in docs/ if there is Chromium."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import browser
import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parent.parent / "docs"


def executed(folder: Path) -> Any:
    """The notebook with the outputs of all its cells, which run in this folder. Raises if a cell fails."""
    # Use the kernel of this Python, wherever Jupyter keeps other kernels.
    os.environ.setdefault("JUPYTER_PATH", str(Path(sys.prefix) / "share" / "jupyter"))
    notebook = nbformat.read(DOCS / "tour.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        cell.outputs = [o for o in cell.get("outputs", []) if o.output_type != "stream" or o.name == "stdout"]
        if cell.cell_type != "code":
            del cell["outputs"]
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return nbformat.reads(_anywhere(nbformat.writes(notebook), folder), as_version=4)


def _anywhere(text: str, folder: Path) -> str:
    """The notebook's text without the places where it was run."""
    return re.sub(r"/tmp/ipykernel_\d+/\d+\.py", "tour.ipynb", text.replace(str(folder), "/data"))


def main() -> None:
    """Write the notebook and the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(executed(Path(folder)), DOCS / "tour.ipynb")
        if browser.CHROMIUM:
            for name, dark in (("light", False), ("dark", True)):
                url = (Path(folder) / "report.html").as_uri()
                browser.screenshot(url, str(DOCS / f"report-{name}.png"), dark=dark, height=1380)


if __name__ == "__main__":
    main()
