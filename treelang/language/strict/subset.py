"""The words in which strict schemas are written: the few that every provider takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema as plain JSON values."""

Definitions: TypeAlias = dict[str, Schema]
"""Schemas by name, as they stand under `$defs`."""

_PREFIX = "#/$defs/"


class NotExpressibleError(Exception):
    """What is to be described does not fit into strict output; the message says why."""


def reference(name: str) -> Schema:
    """A reference to a definition. It stands alone: no provider takes further words beside it."""
    return {"$ref": _PREFIX + name}


def referred(schema: Mapping[str, Any]) -> str | None:
    """The name of the definition that a schema refers to, where it is a reference."""
    target: str = schema.get("$ref", "")
    return target.removeprefix(_PREFIX) or None


def words(*choices: str) -> Schema:
    """A text that is one of these."""
    return {"type": "string", "enum": list(choices)}


def closed_object(properties: Schema) -> Schema:
    """An object with exactly these properties, in this order."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def array(items: Schema) -> Schema:
    """A list of any length."""
    return {"type": "array", "items": items}


def one_of(*alternatives: Schema) -> Schema:
    """What fits one of these. A choice of one is no choice: providers count them."""
    return alternatives[0] if len(alternatives) == 1 else {"anyOf": list(alternatives)}


def subschemas(schema: Mapping[str, Any]) -> Iterator[Schema]:
    """The schemas directly inside a strict schema, its definitions apart."""
    yield from schema.get("properties", {}).values()
    yield from schema.get("anyOf", ())
    if "items" in schema:
        yield schema["items"]


def walk(*schemas: Schema) -> Iterator[Schema]:
    """These schemas and all that are inside of them; what a reference refers to is not inside."""
    waiting = list(schemas)
    while waiting:
        schema = waiting.pop()
        yield schema
        waiting.extend(subschemas(schema))
