"""Programs for providers that take no schema which refers to itself: the nodes written out level by level."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from treelang.language.strict.subset import (
    Definitions,
    NotExpressibleError,
    Schema,
    reachable,
    reference,
    referred,
    walk,
    words,
)

MOST_UNIONS = 16
"""How many places of a schema may take one of several types. (Anthropic's bound; its other one, 24 optional
properties, is never met: here all properties are required.)"""

DEEPEST, SHALLOWEST = 4, 2
"""Levels of nodes below a program's body that are tried. One level alone would be a call of a tool with constants,
and a format that forces this upon a model is worse than one that is only asked for."""


def write_out(program: Schema, nodes: Definitions, union: str) -> Schema:
    """The schema of a program with the most levels that fit.

    Args:
        program: The schema of the program itself.
        nodes: The definitions of all nodes.
        union: The name of the one that is any node.

    Raises:
        NotExpressibleError: Not even the fewest levels fit.
    """
    merged = _merged(nodes, union)
    for depth in range(DEEPEST, SHALLOWEST - 1, -1):
        schema = _levels(program, merged, union, depth)
        if sum(_unions(schema)) <= MOST_UNIONS:
            return schema
    raise NotExpressibleError(
        f"programs for these tools have more than {MOST_UNIONS} places that take one of several types, which is more "
        "than a provider takes that takes no recursive schema"
    )


def _levels(program: Schema, nodes: Definitions, union: str, depth: int) -> Schema:
    """The schema with so many levels of nodes: those of level 0 have no nodes below them."""
    leaves = [name for name in nodes if union not in reachable(nodes[name], nodes) and name != union]
    alternatives = [name for one in nodes[union]["anyOf"] if (name := referred(one)) not in (None, "TreeProgram")]
    definitions: Definitions = {name: nodes[name] for name in leaves}

    def at(level: int, schema: Schema) -> Schema:
        name = referred(schema)
        if name is not None:
            if name in leaves:
                return schema
            return reference(f"{name}_{level - 1 if name == union else level}")
        copy = dict(schema)
        if "properties" in schema:
            copy["properties"] = {key: at(level, one) for key, one in schema["properties"].items()}
        if "items" in schema:
            copy["items"] = at(level, schema["items"])
        if "anyOf" in schema:
            copy["anyOf"] = [at(level, one) for one in schema["anyOf"]]
        return copy

    for level in range(depth + 2):
        for name, schema in nodes.items():
            if name not in leaves and name != union:
                definitions[f"{name}_{level}"] = at(level, schema)
        names = [name for name in alternatives if level > 0 or name in leaves]
        here = [reference(str(name) if name in leaves else f"{name}_{level}") for name in names]
        definitions[f"{union}_{level}"] = {"anyOf": here} if len(here) > 1 else definitions[str(names[0])]
    root = at(depth + 1, program)
    return {**root, "$defs": reachable(root, definitions)}


def _merged(nodes: Definitions, union: str) -> Definitions:
    """The nodes with those made one that differ in their type alone, as map and filter do: it saves places."""
    same: dict[str, str] = {}
    merged: Definitions = {}
    kept: list[Schema] = []
    for one in nodes[union]["anyOf"]:
        name = str(referred(one))
        schema = nodes[name]
        rest = {key: value for key, value in schema.get("properties", {}).items() if key != "type"}
        first = same.setdefault(json.dumps(rest), name)
        if first == name:
            kept.append(one)
            merged[name] = schema
        else:
            kinds = merged[first]["properties"]["type"]["enum"] + schema["properties"]["type"]["enum"]
            merged[first] = {
                **merged[first],
                "properties": {**merged[first]["properties"], "type": words(*kinds)},
            }
    return {**nodes, **merged, union: {"anyOf": kept}}


def _unions(schema: Schema) -> Iterator[bool]:
    """For each place of a schema (a property, or the items of a list), whether it takes one of several types."""
    definitions: Mapping[str, Schema] = schema["$defs"]
    for one in walk(schema, *definitions.values()):
        places = [*one.get("properties", {}).values(), *([one["items"]] if "items" in one else ())]
        for place in places:
            name = referred(place)
            resolved = place if name is None else definitions[name]
            yield "anyOf" in resolved or isinstance(resolved.get("type"), list)
