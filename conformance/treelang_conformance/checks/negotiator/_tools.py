"""Sets of tools for negotiators to describe: few and many, plain and odd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treelang import ToolDefinition
from treelang_conformance.checks.negotiator._negotiation import TOOL


def _tool(name: str, *arguments: str) -> ToolDefinition:
    return ToolDefinition.of({"name": name, "properties": {argument: {"type": "string"} for argument in arguments}})


_NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["name", "children"],
    "additionalProperties": False,
}
_NESTED = {
    "type": "object",
    "properties": {
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string", "minLength": 1}, "heights": {"type": "array", "items": {}}},
            "required": ["city"],
        },
        "unit": {"enum": ["m", "ft", None]},
        "type": {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}], "default": None},
    },
    "required": ["place"],
    "additionalProperties": {"type": "string"},
}

SIMPLE = (TOOL, _tool("plant", "tree", "place"), _tool("wait"))
"""Tools that every way to describe programs has room for."""

TOOL_SETS: Mapping[str, Sequence[ToolDefinition]] = {
    "no-tool": (),
    "one-tool": (TOOL,),
    "several-tools": SIMPLE,
    "a-list-of-tools": list(SIMPLE),
    "names-with-hyphens-and-dots": (_tool("web-search", "query"), _tool("maps.find")),
    "names-beyond-ascii": (_tool("\u641c\u7d22 \U0001f332", "h\u00f6he"), _tool('say "hi"\n')),
    "a-name-of-100-letters": (_tool("m" * 100, "n" * 100),),
    "a-nested-schema": (ToolDefinition(name="survey", input_schema=_NESTED), TOOL),
    "a-recursive-schema": (
        ToolDefinition(
            name="graft",
            input_schema={
                "$defs": {"node": _NODE},
                "type": "object",
                "properties": {"tree": {"$ref": "#/$defs/node"}, "at": {"type": "integer"}},
                "required": ["tree", "at"],
                "additionalProperties": False,
            },
        ),
    ),
    "a-schema-by-reference": (
        ToolDefinition(name="prune", input_schema={"$defs": {"node": _NODE}, "$ref": "#/$defs/node"}),
    ),
    "an-open-schema": (ToolDefinition(name="keep", input_schema={"type": "object"}),),
    "forty-tools": tuple(_tool(f"tool_{number}", "x") for number in range(40)),
}
