"""What the generated classes of `springbok.model` share: from a JSON document and back to it."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from springbok.errors import SpringbokError

D = TypeVar("D", bound="Document")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A whole document of the JVM half, in the format of this number."""

    FORMAT: ClassVar[int]
    _document: dict[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls: type[D], text: str) -> D:
        """Parse the JVM's document.

        Raises:
            SpringbokError: the document has another version of the format.
        """
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls: type[D], d: dict[str, Any]) -> D:
        """The same for a parsed document."""
        if d.get("version") != cls.FORMAT:
            raise SpringbokError(
                f"The report has format {d.get('version')} and this package reads {cls.FORMAT}: "
                "use the jar that this package carries."
            )
        document: D = _decoded(cls, {**d, "_document": d})
        return document

    def to_dict(self) -> dict[str, Any]:
        """The whole document."""
        return copy.deepcopy(self._document)

    def to_json(self) -> str:
        """The whole document as JSON."""
        return json.dumps(self._document, indent=2)


@cache
def _types(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields."""
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)}


def _decoded(kind: Any, value: Any) -> Any:
    """A JSON value as its field's type says; fields that a dataclass does not know are left out."""
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        return kind(**{k: _decoded(types[k], v) for k, v in value.items() if k in types and v is not None})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(_decoded(arguments[0], v) for v in value)
    if origin in (Union, UnionType):  # `X | None`
        return _decoded(arguments[0], value)
    return value
