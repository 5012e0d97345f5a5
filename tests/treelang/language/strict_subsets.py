"""What the providers document that a strict schema may be, as checkers: each defect is one line.

They know nothing of how the projections are made, and read a schema as a provider would.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

_WORDS = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "enum",
    "anyOf",
    "$ref",
    "$defs",
}
_KINDS = {"string", "number", "integer", "boolean", "null", "object", "array"}


def openai_defects(schema: Schema) -> Iterator[str]:
    """OpenAI: recursion is allowed; 10 levels, 5,000 properties, 1,000 enum values, 120,000 characters of names."""
    yield from _common_defects(schema, {"pattern"})
    parts = list(_parts(schema))
    properties = [name for part in parts for name in part.get("properties", ())]
    enums = [part["enum"] for part in parts if "enum" in part]
    choices = [str(value) for enum in enums for value in enum]
    if len(properties) > 5_000:
        yield "more than 5,000 properties"
    if len(choices) > 1_000:
        yield "more than 1,000 enum values"
    if sum(map(len, [*properties, *choices, *schema["$defs"]])) > 120_000:
        yield "more than 120,000 characters of names"
    if any(len(enum) > 250 and sum(map(len, map(str, enum))) > 15_000 for enum in enums):
        yield "more than 15,000 characters in an enum of more than 250 values"
    if _levels(schema, schema, frozenset()) > 10:
        yield "nested more than 10 levels deep"


def anthropic_defects(schema: Schema) -> Iterator[str]:
    """Anthropic: no recursion, no bounds beyond minItems of 0 or 1, 24 optional and 16 union parameters at most."""
    yield from _common_defects(schema, set())
    parts = list(_parts(schema))
    places = [place for part in parts for place in [*part.get("properties", {}).values(), *_items(part)]]
    # Whether it counts the unions as they are written or the places that take one, is not documented.
    if sum(map(_is_union, parts)) > 16 or sum(_is_union(_target(place, schema)) for place in places) > 16:
        yield "more than 16 union parameters"
    if sum(len(part["properties"].keys() - set(part["required"])) for part in parts if "properties" in part) > 24:
        yield "more than 24 optional parameters"
    if any(_leads_back(name, schema) for name in schema["$defs"]):
        yield "it is recursive"


def _common_defects(schema: Schema, further_words: set[str]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield "its root is no object"
    for part in _parts(schema):
        if "$ref" in part:
            if len(part) > 1 or part["$ref"].removeprefix("#/$defs/") not in schema["$defs"]:
                yield "a reference has siblings or leads nowhere"
            continue
        kinds = part.get("type", [])
        if not {*([kinds] if isinstance(kinds, str) else kinds)} <= _KINDS:
            yield f"unknown types: {kinds}"
        if ("type" in part) == ("anyOf" in part):
            yield "a part has no type, or alternatives and a type"
        if unknown := part.keys() - _WORDS - further_words:
            yield f"unknown words: {sorted(unknown)}"
        if part.get("minItems", 0) > 1:
            yield "minItems above 1"
        if part.get("type") == "object" and (
            part.get("additionalProperties") is not False or part.get("required") != list(part["properties"])
        ):
            yield "an object is not closed, or has optional properties"
        marks = [_mark(one, schema) for one in _alternatives(part, schema) if one["type"] == "object"]
        if any(_are_alike(*pair) for pair in itertools.combinations(marks, 2)):
            yield f"alternatives that their first keys do not tell apart: {marks}"


def _parts(schema: Schema) -> Iterator[Schema]:
    waiting = [schema, *schema["$defs"].values()]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += [*part.get("properties", {}).values(), *part.get("anyOf", ()), *_items(part)]


def _items(part: Schema) -> list[Schema]:
    return [part["items"]] if "items" in part else []


def _target(part: Schema, root: Schema) -> Schema:
    target: Schema = root["$defs"][part["$ref"].removeprefix("#/$defs/")] if "$ref" in part else part
    return target


def _alternatives(part: Schema, root: Schema) -> Iterator[Schema]:
    """The alternatives of a union, those of unions inside of it included."""
    for one in part.get("anyOf", ()):
        resolved = _target(one, root)
        if "anyOf" in resolved:
            yield from _alternatives(resolved, root)
        else:
            yield resolved


def _mark(one: Schema, root: Schema) -> tuple[str | None, set[str] | None]:
    """What an object begins with: its first key, and the values that it can have, where they are told."""
    first, value = next(iter(one["properties"].items()), (None, {}))
    choices = _target(value, root).get("enum")
    return first, choices and set(map(repr, choices))


def _are_alike(one: tuple[str | None, set[str] | None], other: tuple[str | None, set[str] | None]) -> bool:
    return one[0] == other[0] and (not one[1] or not other[1] or not one[1].isdisjoint(other[1]))


def _is_union(part: Schema) -> bool:
    return "anyOf" in part or isinstance(part.get("type"), list)


def _leads_back(start: str, root: Schema) -> bool:
    seen: set[str] = set()
    waiting = [root["$defs"][start]]
    while waiting:
        part = waiting.pop()
        name = part.get("$ref", "").removeprefix("#/$defs/")
        if name == start:
            return True
        if name and name not in seen:
            seen.add(name)
            waiting.append(root["$defs"][name])
        waiting += [*part.get("properties", {}).values(), *part.get("anyOf", ()), *_items(part)]
    return False


def _levels(part: Schema, root: Schema, entered: frozenset[str]) -> int:
    """How deep objects are nested, with what references mean in their place until they lead back."""
    if "$ref" in part:
        name = part["$ref"].removeprefix("#/$defs/")
        return 0 if name in entered else _levels(root["$defs"][name], root, entered | {name})
    inside = [*part.get("properties", {}).values(), *part.get("anyOf", ()), *_items(part)]
    return (part.get("type") == "object") + max((_levels(one, root, entered) for one in inside), default=0)
