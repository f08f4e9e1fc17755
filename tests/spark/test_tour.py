"""The notebook in docs/ in a real kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
import tour


@pytest.mark.slow
def test_the_tour_runs(tmp_path: Path) -> None:
    notebook = tour.executed(tmp_path)
    html = [
        o.data["text/html"] for c in notebook.cells for o in c.get("outputs", []) if "text/html" in o.get("data", {})
    ]
    assert any("<svg" in h for h in html) and not any("<script" in h for h in html)
    text = "".join(o.text for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "stream")
    assert "the answers are equal" in text and "RF000" in text
