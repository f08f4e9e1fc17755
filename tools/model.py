"""Writes python/springbok/model.py, the classes of a report, from docs/report.schema.json: a part of `make docs`.

A field has the schema's name and type, and its values as a comment if they are listed. What a document may leave out is
None; lists and maps are empty. A class has the first sentence of its description in the schema, which says more.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "python/springbok/model.py"
_HEAD = '''"""A report as dataclasses: tools/model.py writes them from docs/report.schema.json, which says more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar
'''
# Methods of the classes.
_METHODS = {
    "table": '''
    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        return tuple(s.column for s in self.slots)''',
    "join": '''
    def __str__(self) -> str:
        return f"Join {self.id} ({self.condition})" if self.condition else f"Join {self.id}"''',
    "reason": """
    def __str__(self) -> str:
        return f"{self.code}: {self.text}" + (f" [{self.setting}]" if self.setting else "")""",
}
# A failure is a dictionary: it has no class.
_PLAIN = {"failure": "dict[str, str]"}
# Fields that the first reports of this format did not have.
_DEFAULTS = {
    "resources.tasks_per_executor": "1",
    "resources.execution_memory_bytes": "0",
    "table.id": "0",
    "table.source": '"other"',
    "join.condition": '""',
    "alternative.text": '""',
    "filter.name": '""',
    "filter.effect": '""',
}
# What the schema does not describe; it follows the first sentence of the schema.
_DOCS = {
    "report": "predicate_sources are the columns of tables that decide which rows output has: those of conditions and "
    "of keys.",
    "slot": "A column that is read, with the distinct values of its table as far as they are known.",
    "bucketing": "The buckets of a table of files. Rows with equal values in these columns are in one bucket.",
    "partitioning": "How rows are spread.",
    "node": "An operator; join and filter say which join or runtime filter of the report it is.",
    "aggregate_function": "A function, and its phase.",
    "exchange": "Rows on their way to the fragments `to`; bytes are those in memory, written_bytes compressed.",
    "join": "A join: what Springbok decided (planned), what the plan has (strategy, build, distribution), and why. "
    "spark_strategy is what Spark alone would plan by the sizes that it knows. revised: the plan had `before` and was "
    "changed at run time. strategy is None for a join that was optimized away. memory_bytes is what it may take of one "
    "executor; notes say what else its costs and inputs depend on, and what of the query was ignored.",
    "side": "rows, row_bytes and bound_bytes (not exceeded) are what the decision was made on. q_error is the factor "
    "between estimate and observation.",
    "filter": "rows are those that were tested at the scan; waited_ms is the time from the start of the build side's "
    "stage to the decision. pushed is how the scan itself was told of it, not_pushed why it was not.",
    "reason": "setting is the one that would change it.",
    "conjunct": "A conjunct: its cost in ns a row, the fraction of the rows that it retains, whether it may raise an "
    "error.",
}
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def module() -> str:
    """The text of the module."""
    schema = json.loads((ROOT / "docs/report.schema.json").read_text(encoding="utf-8"))
    kinds = {name: kind for name, kind in schema["$defs"].items() if name not in _PLAIN} | {"report": schema}
    return f"{_HEAD}\n\n" + "\n".join("\n".join(_class(*kind)) + "\n" for kind in kinds.items())


def _class(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield "@dataclass(frozen=True, kw_only=True)"
    yield f"class {_class_name(name)}:"
    title = f"{schema['title']}." if "title" in schema else None
    first = re.match(r".*?[.](?= |$)", schema.get("description", ""))
    text = " ".join(filter(None, (title, first and first.group(), _DOCS.get(name))))
    yield textwrap.fill(f'"""{text}"""', 120, initial_indent="    ", subsequent_indent="    ")
    for key, value in schema["properties"].items():
        if "const" in value:
            yield f"    FORMAT: ClassVar[int] = {value['const']}"
        kind, default = _type(value), _DEFAULTS.get(f"{name}.{key}")
        if kind.startswith("tuple"):
            default = "()"
        elif kind.startswith("dict"):
            default = "field(default_factory=dict)"
        elif default is None and key not in schema["required"]:
            kind, default = f"{kind} | None", "None"
        allowed = f"  # {', '.join(value['enum'])}" if "enum" in value else ""
        yield f"    {key}: {kind}" + (f" = {default}" if default else "") + allowed
    if name in _METHODS:
        yield _METHODS[name]


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].removeprefix("#/$defs/")
        return _PLAIN.get(name) or _class_name(name)
    if "const" in value:
        return "int"
    if value["type"] == "array":
        return f"tuple[{_type(value['items'])}, ...]"
    if value["type"] == "object":
        return f"dict[str, {_type(value['additionalProperties']) if 'additionalProperties' in value else 'Any'}]"
    return _SCALARS[value["type"]]


def _class_name(name: str) -> str:
    return "ReportData" if name == "report" else name.title().replace("_", "")


if __name__ == "__main__":
    TARGET.write_text(module(), encoding="utf-8")
