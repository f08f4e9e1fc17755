"""The dataclasses say what docs/report.schema.json says."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from springbok import model

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text(encoding="utf-8"))
# A failure is a dictionary: it has no dataclass.
OBJECTS = {"report": SCHEMA, **{name: d for name, d in SCHEMA["$defs"].items() if name != "failure"}}


def dataclass_of(name: str) -> Any:
    return model.ReportData if name == "report" else getattr(model, name.title().replace("_", ""))


@pytest.mark.parametrize("name", OBJECTS)
def test_fields(name: str) -> None:
    kind, schema = dataclass_of(name), OBJECTS[name]
    own = [f for f in fields(kind) if not f.name.startswith("_")]
    assert {f.name for f in own} == set(schema["properties"])
    always = {f.name for f in own if f.default is MISSING and f.default_factory is MISSING}
    # What the JVM may leave out must have a default.
    assert always <= set(schema["required"])


@pytest.mark.parametrize("name", OBJECTS)
def test_types(name: str) -> None:
    json_types: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
    hints = get_type_hints(dataclass_of(name))
    for field, schema in OBJECTS[name]["properties"].items():
        plain = next((t for t in (hints[field], *get_args(hints[field])) if t in json_types), None)
        declared = schema.get("type")
        if plain and declared in json_types.values():
            assert json_types[plain] == declared, field
