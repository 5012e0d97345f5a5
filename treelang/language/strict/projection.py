"""The closed projection of a program format: a JSON Schema that strict structured output takes.

Providers enforce a subset of JSON Schema: every object closed and all of its properties required, no free-form
objects, no annotations. The projection accepts fewer programs than the format: a literal holds no object but one that
a tool describes, and an optional argument that the tool does not take as null is left out. What it accepts, the format
accepts, but for names where a provider takes no patterns (those that take no recursion).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treelang.language.program import PROGRAMS
from treelang.language.strict.arguments import closed_shape, is_structured, takes_null
from treelang.language.strict.levels import write_out
from treelang.language.strict.subset import (
    Definitions,
    NotExpressibleError,
    Schema,
    closed_object,
    reachable,
    reference,
    referred,
    walk,
    words,
)
from treelang.tools.definition import ToolDefinition

MOST_PROPERTIES = 5_000
MOST_ENUM_VALUES = 1_000
MOST_CHARACTERS = 120_000
"""Bounds of the providers that take recursion: properties, enum values, characters of names and values (OpenAI's)."""

_UNIONS = {"1.0": "AnyNode", "2.0": "Expression"}
"""Of each format, the definition that is any node."""

_SCALAR_KINDS = ("string", "number", "boolean", "null")


def strict_schema(version: str, tools: Sequence[ToolDefinition], *, recursive: bool) -> Schema:
    """The schema by which a model writes a program of a format for these tools, and nothing else.

    Args:
        version: The format, `1.0` or `2.0`.
        tools: What the program may call.
        recursive: Whether the provider takes a schema that refers to itself.

    Raises:
        NotExpressibleError: The tools do not fit into what strict output takes; the message says why.
        KeyError: There is no such format.
    """
    drawn = PROGRAMS[version].model_json_schema()
    drawn_nodes: Definitions = drawn.pop("$defs")
    drawn_nodes.setdefault("TreeProgram", drawn)
    nodes = {name: _closed(schema, recursive=recursive) for name, schema in drawn_nodes.items()}
    union = _UNIONS[version]
    if version == "1.0":
        if tools:
            nodes["TreeFunction"]["properties"]["name"] = words(*(tool.name for tool in tools))
    else:
        _specialise_tool_calls(nodes, nodes[union]["anyOf"], tools)
    program = nodes["TreeProgram"]
    if not recursive:
        return write_out(program, nodes, union)
    schema = {**program, "$defs": reachable(program, nodes)}
    _require_fitting(schema)
    return schema


def _closed(schema: Schema, *, recursive: bool) -> Schema:
    """A schema of the format in strict words: annotations gone, objects closed, any JSON value become a constant."""
    name = referred(schema)
    if name is not None:
        return reference(name)
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return {"anyOf": [_closed(one, recursive=recursive) for one in schema[word]]}
    if "const" in schema:
        return words(schema["const"])
    if "enum" in schema:
        return words(*schema["enum"])
    match schema.get("type"):
        case "object":
            properties = {key: _closed(one, recursive=recursive) for key, one in schema.get("properties", {}).items()}
            return closed_object({key: one for key, one in properties.items() if recursive or not _is_note(one)})
        case "array":
            least = {"minItems": 1} if schema.get("minItems") else {}
            return {"type": "array", "items": _closed(schema["items"], recursive=recursive), **least}
        case "string":
            pattern = schema.get("pattern", "." if schema.get("minLength") else None)
            return {"type": "string"} | ({"pattern": pattern} if pattern is not None and recursive else {})
        case "null":
            return {"type": "null"}
    return _constant(recursive=recursive)


def _is_note(schema: Schema) -> bool:
    """Whether a property is a text or null, such as a program's description: nothing that running it needs."""
    return schema == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def _constant(*, recursive: bool) -> Schema:
    """What a constant may be; where places for several types are scarce, no list."""
    if not recursive:
        return {"type": list(_SCALAR_KINDS)}
    items = {"type": list(_SCALAR_KINDS)}
    return {"anyOf": [*({"type": kind} for kind in _SCALAR_KINDS), {"type": "array", "items": items}]}


def _specialise_tool_calls(nodes: Definitions, alternatives: list[Schema], tools: Sequence[ToolDefinition]) -> None:
    """Put a node for each tool, with its own arguments, in the place of the call of any tool."""
    del nodes["TreeToolCall"]
    alternatives.remove(reference("TreeToolCall"))
    for number, tool in enumerate(tools):
        if not (tool.name.isidentifier() and tool.name.isascii()):
            raise NotExpressibleError(f"the tool {tool.name!r} has a name that format 2.0 cannot call")
        # The tool comes first: it is by their first keys that a decoder tells the alternatives apart.
        nodes[f"ToolCall{number}"] = closed_object(
            {
                "tool": words(tool.name),
                "type": words("tool_call"),
                "arguments": _arguments(tool, f"ToolCall{number}", nodes),
            }
        )
        alternatives.append(reference(f"ToolCall{number}"))


def _arguments(tool: ToolDefinition, prefix: str, nodes: Definitions) -> Schema:
    root = tool.complete_schema()
    required = root.get("required", ())
    arguments: Schema = {}
    for name in tool.properties:
        schema: Any = root.get("properties", {}).get(name, {})
        try:
            if name not in required and not takes_null(schema, root):
                continue
            if not is_structured(schema, root):
                arguments[name] = reference("Expression")
                continue
            literal = {"value": closed_shape(schema, root), "type": words("literal")}
        except NotExpressibleError as defect:
            if name in required:
                raise NotExpressibleError(f"the argument {name!r} of the tool {tool.name!r}: {defect}") from None
            continue
        literal_name = f"{prefix}Literal{len(arguments)}"
        nodes[literal_name] = closed_object(literal)
        arguments[name] = {"anyOf": [reference(literal_name), reference("Expression")]}
    missing = [name for name in required if name not in arguments]
    if missing:
        raise NotExpressibleError(f"the tool {tool.name!r} requires {missing[0]!r}, which it does not describe")
    return closed_object(arguments)


def _require_fitting(schema: Schema) -> None:
    parts = list(walk(schema, *schema["$defs"].values()))
    properties = [name for part in parts for name in part.get("properties", ())]
    choices = [value for part in parts for value in part.get("enum", ())]
    characters = sum(map(len, [*properties, *choices, *schema["$defs"]]))
    for what, found, most in (
        ("properties", len(properties), MOST_PROPERTIES),
        ("enum values", len(choices), MOST_ENUM_VALUES),
        ("characters of names", characters, MOST_CHARACTERS),
    ):
        if found > most:
            raise NotExpressibleError(f"the schema for these tools has {found} {what}, and strict output takes {most}")
