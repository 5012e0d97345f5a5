"""The words in which strict schemas are written: the few that every provider takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema as plain JSON values."""

Definitions: TypeAlias = dict[str, Schema]
"""Schemas by name, as they stand under `$defs`."""

_PREFIX = "#/$defs/"


class NotExpressibleError(Exception):
    """What is to be described does not fit into strict output; the message says why."""


def reference(name: str) -> Schema:
    """A reference to a definition."""
    return {"$ref": _PREFIX + name}


def referred(schema: Mapping[str, Any]) -> str | None:
    """The name of the definition that a schema refers to, where it is a reference."""
    target: str = schema.get("$ref", "")
    return target.removeprefix(_PREFIX) or None


def words(*choices: str) -> Schema:
    """A text that is one of these."""
    return {"type": "string", "enum": list(choices)}


def closed_object(properties: Schema) -> Schema:
    """An object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


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


def reachable(root: Schema, definitions: Mapping[str, Schema]) -> Definitions:
    """The definitions that a schema refers to, directly or through others, in their order."""
    found: set[str] = set()
    waiting: list[Schema] = [root]
    while waiting:
        names: Iterable[str | None] = [referred(one) for one in walk(waiting.pop())]
        for name in names:
            if name is not None and name not in found:
                found.add(name)
                waiting.append(definitions[name])
    return {name: schema for name, schema in definitions.items() if name in found}
