"""Short ways to write nodes down, as the JSON that a model would write."""

from __future__ import annotations

from typing import Any, TypeAlias

JSON: TypeAlias = dict[str, Any]


def program(*body: JSON, **fields: Any) -> JSON:
    """A program of format 1.0."""
    return {"type": "program", "body": list(body), "mode": "single"} | fields


def value(name: str, value: Any = None) -> JSON:
    return {"type": "value", "name": name, "value": value}


def function(name: str, *params: JSON) -> JSON:
    return {"type": "function", "name": name, "params": list(params)}


def choice(condition: JSON, true_branch: JSON, *false_branch: JSON) -> JSON:
    """A conditional of either format."""
    node = {"type": "conditional", "condition": condition, "true_branch": true_branch}
    return node | ({"false_branch": false_branch[0]} if false_branch else {})


def lambda_(params: list[str], body: JSON) -> JSON:
    return {"type": "lambda", "params": params, "body": body}


def over(kind: str, params: list[str], body: JSON, iterable: JSON | list[Any]) -> JSON:
    """A map, a filter or a reduce."""
    items = value("items", iterable) if isinstance(iterable, list) else iterable
    return {"type": kind, "function": lambda_(params, body), "iterable": items}


def program2(*body: JSON, definitions: list[JSON] | None = None, **fields: Any) -> JSON:
    """A program of format 2.0."""
    return {"type": "program", "definitions": definitions or [], "body": list(body), "schema_version": "2.0"} | fields


def define(name: str, params: list[str], body: JSON) -> JSON:
    return {"type": "function_definition", "name": name, "params": params, "body": body}


def literal(value: Any) -> JSON:
    return {"type": "literal", "value": value}


def variable(name: str) -> JSON:
    return {"type": "variable", "name": name}


def call(name: str, *arguments: JSON) -> JSON:
    return {"type": "call", "function": name, "arguments": list(arguments)}


def tool(name: str, /, **arguments: JSON) -> JSON:
    return {"type": "tool_call", "tool": name, "arguments": arguments}


def memo(key: str, expression: JSON) -> JSON:
    return {"type": "memo", "key": key, "expression": expression}
