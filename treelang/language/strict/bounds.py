"""How much a provider takes of what it takes: the documented bounds, and whether a strict schema keeps to them."""

from __future__ import annotations

from collections.abc import Mapping

from treelang.language.strict.subset import Schema, referred, subschemas, walk

# What OpenAI documents, inclusive; the providers that document less have no other bounds than those further below.
MOST_LEVELS = 10
MOST_PROPERTIES = 5_000
MOST_ENUM_VALUES = 1_000
MOST_CHARACTERS = 120_000
LARGE_ENUM = 250
MOST_CHARACTERS_OF_LARGE_ENUM = 15_000

MOST_UNIONS = 16
"""How many places of a schema may take one of several types, where a provider takes no recursion: Anthropic's bound.
Its other one, 24 optional properties, is never met, for here all properties are required."""


def find_excess(schema: Schema, *, recursive: bool) -> str | None:
    """What a schema has too much of, or `None` where it keeps to the bounds.

    Args:
        schema: The schema, with its definitions under `$defs`.
        recursive: Whether it is for a provider that takes recursion.
    """
    definitions: Mapping[str, Schema] = schema["$defs"]
    parts = list(walk(schema, *definitions.values()))
    properties = [name for part in parts for name in part.get("properties", ())]
    enums = [[str(value) for value in part["enum"]] for part in parts if "enum" in part]
    for what, found, most in (
        ("properties", len(properties), MOST_PROPERTIES),
        ("enum values", sum(map(len, enums)), MOST_ENUM_VALUES),
        ("characters of names", _characters(properties, definitions, *enums), MOST_CHARACTERS),
        (
            "characters in one enum",
            max((_characters(enum) for enum in enums if len(enum) > LARGE_ENUM), default=0),
            MOST_CHARACTERS_OF_LARGE_ENUM,
        ),
        ("places for several types", 0 if recursive else _unions(parts, definitions), MOST_UNIONS),
    ):
        if found > most:
            return f"{found} {what}, and strict output takes {most}"
    levels = _levels(schema, definitions, {})
    return f"{levels} levels of objects, and strict output takes {MOST_LEVELS}" if levels > MOST_LEVELS else None


def _characters(*texts: Mapping[str, Schema] | list[str]) -> int:
    return sum(len(text) for some in texts for text in some)


def _unions(parts: list[Schema], definitions: Mapping[str, Schema]) -> int:
    """How many places of a schema take one of several types.

    Whether a provider counts the choices as they are written, or the properties and lists that lead to one, is not
    documented; it is the larger number here.
    """
    places = [place for part in parts for place in (*part.get("properties", {}).values(), *_items(part))]
    resolved = [definitions[name] if (name := referred(place)) else place for place in places]
    return max(sum(map(_is_union, parts)), sum(map(_is_union, resolved)))


def _items(part: Schema) -> list[Schema]:
    return [part["items"]] if "items" in part else []


def _is_union(part: Schema) -> bool:
    return "anyOf" in part or isinstance(part.get("type"), list)


def _levels(schema: Schema, definitions: Mapping[str, Schema], known: dict[str, int]) -> int:
    """How deep objects are nested, with what references mean in their place until they lead back.

    Args:
        schema: The schema.
        definitions: What is referred to.
        known: How deep what was referred to before is nested; what is still being gone through counts as nothing.
    """
    name = referred(schema)
    if name is not None:
        if name not in known:
            known[name] = 0
            known[name] = _levels(definitions[name], definitions, known)
        return known[name]
    deepest = max((_levels(one, definitions, known) for one in subschemas(schema)), default=0)
    return deepest + (schema.get("type") == "object")
