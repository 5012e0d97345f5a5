"""What the providers document that a strict schema may be, as checkers: each defect is one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from treelang.language.strict.subset import Schema, referred, walk

_WORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs"}


def openai_defects(schema: Schema) -> Iterator[str]:
    """OpenAI: recursion is allowed; 10 levels, 5,000 properties, 1,000 enum values, 120,000 characters of names."""
    yield from _common_defects(schema, {"pattern", "minItems"})
    definitions = schema["$defs"]
    parts = list(walk(schema, *definitions.values()))
    properties = [name for part in parts for name in part.get("properties", ())]
    choices = [value for part in parts for value in part.get("enum", ())]
    if len(properties) > 5_000:
        yield "more than 5,000 properties"
    if len(choices) > 1_000:
        yield "more than 1,000 enum values"
    if sum(map(len, [*properties, *choices, *definitions])) > 120_000:
        yield "more than 120,000 characters of names"
    if any(_depth(one) > 10 for one in (schema, *definitions.values())):
        yield "nested more than 10 levels deep"


def anthropic_defects(schema: Schema) -> Iterator[str]:
    """Anthropic: no recursion, no bounds beyond minItems of 0 or 1, 24 optional and 16 union parameters at most."""
    yield from _common_defects(schema, {"minItems"})
    definitions = schema["$defs"]
    places = [place for part in walk(schema, *definitions.values()) for place in _places(part)]
    if sum(_is_union(place, definitions) for place in places) > 16:
        yield "more than 16 union parameters"
    if any(_refers_to_itself(name, definitions) for name in definitions):
        yield "it is recursive"


def _common_defects(schema: Schema, further_words: set[str]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield "its root is no object"
    definitions = schema["$defs"]
    for part in walk(schema, *definitions.values()):
        if "$ref" in part and (len(part) > 1 or referred(part) not in definitions):
            yield "a reference has siblings or leads nowhere"
        if not part.keys() <= _WORDS | further_words:
            yield f"unknown words: {sorted(part.keys() - _WORDS - further_words)}"
        if part.get("minItems", 0) > 1:
            yield "minItems above 1"
        if part.get("type") == "object" and (
            part.get("additionalProperties") is not False or part.get("required") != list(part["properties"])
        ):
            yield "an object is not closed, or has optional properties"
        marks = [_mark(one, definitions) for one in _alternatives(part, definitions)]
        if len(set(marks)) < len(marks):
            yield f"alternatives that their first keys do not tell apart: {marks}"


def _alternatives(part: Schema, definitions: Mapping[str, Schema]) -> Iterator[Schema]:
    """The alternatives of a union, those of unions inside of it included."""
    for one in part.get("anyOf", ()):
        name = referred(one)
        resolved = one if name is None else definitions[name]
        if "anyOf" in resolved:
            yield from _alternatives(resolved, definitions)
        else:
            yield resolved


def _mark(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    """What tells an alternative from others: its type, and for objects the first key with its choices."""
    if schema.get("type") != "object":
        return str(schema.get("type"))
    first, value = next(iter(schema["properties"].items()), ("", {}))
    return f"{first}: {value.get('enum', 'anything')}"


def _places(part: Schema) -> list[Schema]:
    return [*part.get("properties", {}).values(), *([part["items"]] if "items" in part else ())]


def _is_union(place: Schema, definitions: Mapping[str, Schema]) -> bool:
    name = referred(place)
    resolved = place if name is None else definitions[name]
    return "anyOf" in resolved or isinstance(resolved.get("type"), list)


def _refers_to_itself(start: str, definitions: Mapping[str, Schema]) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for part in walk(definitions[waiting.pop()]):
            name = referred(part)
            if name == start:
                return True
            if name is not None and name not in seen:
                seen.add(name)
                waiting.append(name)
    return False


def _depth(schema: Any) -> int:
    inside = [*_places(schema), *schema.get("anyOf", ())]
    return 1 + max(map(_depth, inside), default=0)
