"""From a parsed JSON document to the generated classes of `springbok.model`."""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

_types = cache(get_type_hints)


def decoded(kind: Any, value: Any) -> Any:
    """A JSON value as its type says; fields that a dataclass does not know are left out."""
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        return kind(**{k: decoded(types[k], v) for k, v in value.items() if k in types and v is not None})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(decoded(arguments[0], v) for v in value)
    if origin in (Union, UnionType):  # `X | None`
        return decoded(arguments[0], value)
    return value
