"""Shapes of bodies: the part of JSON Schema that is used here, and the check that a body has its shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from dalenius.server.faults import TOO_LARGE, Faulted, malformed

Schema: TypeAlias = Mapping[str, Any]
MOST_SQL = 100_000
_DEEPEST = 6

FLAG: Schema = {"type": "boolean"}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 100}
LINE: Schema = {"type": "string", "maxLength": 1000}
NUMBER: Schema = {"type": "string", "minLength": 1, "maxLength": 200, "description": "an exact number, as text"}
FIGURE: Schema = {"type": "string", "description": "an exact fraction, as text"}
TEXT: Schema = {"type": "string"}
ANY: Schema = {}
AMOUNT: Schema = {
    "type": "array",
    "description": "divergence in 10^-15, delta in 10^-20, Rényi order; and epsilon in 10^-15, where that is bounded",
}


def whole(least: int, most: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


def one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def either(*schemas: Schema) -> Schema:
    return {"oneOf": [part for schema in schemas for part in schema.get("oneOf", [schema])]}


def array(items: Schema, *, most: int = 1000) -> Schema:
    return {"type": "array", "items": items, "maxItems": most}


def mapping(values: Schema, *, most: int = 1000) -> Schema:
    """An object whose names are free."""
    return {"type": "object", "additionalProperties": values, "maxProperties": most}


def record(*, optional: Mapping[str, Schema] | None = None, **required: Schema) -> Schema:
    """An object with these names and no others; an optional one may be left out or null."""
    known = {**required, **{name: either(schema, {"type": "null"}) for name, schema in (optional or {}).items()}}
    return {"type": "object", "properties": known, "required": list(required), "additionalProperties": False}


def parsed(body: bytes) -> Any:
    """The JSON value of a body; names that come twice, NaN and infinity are refused."""
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise malformed("the body is not JSON in UTF-8 with every name once") from None


def require(value: Any, schema: Schema, name: str = "the body", *, depth: int = 0) -> None:
    """Refuse a value that has not the shape; names of fields are told, values never."""
    if "oneOf" in schema:
        _require_any(value, schema["oneOf"], name, depth)
        return
    kind = schema.get("type")
    if kind is None:
        return
    if depth > _DEEPEST or type(value) is not _TYPES[kind]:
        raise malformed(f"{name} must be {_WORDS[kind]}")
    if kind == "string":
        _require_text(value, schema, name)
    elif kind == "integer" and not schema.get("minimum", 0) <= value <= schema.get("maximum", 2**63):
        raise malformed(f"{name} must lie between {schema['minimum']} and {schema['maximum']}")
    elif kind == "array":
        _require_array(value, schema, name, depth)
    elif kind == "object":
        _require_object(value, schema, name, depth)


def _require_any(value: Any, schemas: list[Schema], name: str, depth: int) -> None:
    fitting = [schema for schema in schemas if not schema or type(value) is _TYPES[schema["type"]]]
    if not fitting:
        words = dict.fromkeys(_WORDS[schema["type"]] for schema in schemas)
        raise malformed(f"{name} must be " + (" or ".join(words) if len(words) > 1 else "left out or null"))
    require(value, fitting[0], name, depth=depth)


def _require_text(value: str, schema: Schema, name: str) -> None:
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        raise Faulted(TOO_LARGE)
    if len(value) < schema.get("minLength", 0):
        raise malformed(f"{name} must not be empty")
    if "enum" in schema and value not in schema["enum"]:
        raise malformed(f"{name} must be one of {', '.join(schema['enum'])}")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise malformed(f"{name} must be a text of whole characters")


def _require_array(value: list[Any], schema: Schema, name: str, depth: int) -> None:
    if len(value) > schema.get("maxItems", 1000):
        raise Faulted(TOO_LARGE)
    for item in value:
        require(item, schema.get("items", ANY), f"each of {name}", depth=depth + 1)


def _require_object(value: dict[str, Any], schema: Schema, name: str, depth: int) -> None:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", ANY)
    if len(value) > schema.get("maxProperties", 1000):
        raise Faulted(TOO_LARGE)
    missing = [each for each in schema.get("required", []) if each not in value]
    if missing:
        raise malformed(f"{name} lacks {missing[0]}")
    if others is False and not value.keys() <= known.keys():
        raise malformed(f"{name} has a field that is not known; known are {', '.join(known)}")
    for each, part in value.items():
        named = each if each in known else f"each of {name}"
        require(part, known.get(each, others), named, depth=depth + 1)
        if each not in known:
            _require_text(each, NAME, f"each name in {name}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _refused(word: str) -> Any:
    raise ValueError


_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
