"""The arguments of a tool as a strict schema: what a literal may be where the tool's own schema asks for an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treelang.language.strict.subset import NotExpressibleError, Schema, closed_object

_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})
_DEEPEST = 5
"""How deep objects and arrays may be nested in an argument; providers count all levels, the program's too."""


def takes_null(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether an argument's schema says that null will do."""
    schema = _resolved(schema, root, 0)
    kinds = _kinds(schema)
    return "null" in kinds or any(takes_null(one, root) for one in schema.get("anyOf", ()))


def is_structured(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether an argument's schema asks for an object or a list of objects, which no general literal can be."""
    schema = _resolved(schema, root, 0)
    kinds = _kinds(schema)
    if "object" in kinds or "properties" in schema:
        return True
    if "array" in kinds and isinstance(items := schema.get("items"), Mapping):
        return is_structured(items, root) or "array" in _kinds(_resolved(items, root, 0))
    return any(is_structured(one, root) for one in schema.get("anyOf", ()))


def closed_shape(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Schema:
    """A tool's own schema of a value, closed: what it accepts, the tool's schema accepts but for bounds of values.

    Optional members that do not take null are left out: they can neither be required nor be null.

    Args:
        schema: The schema of the value.
        root: The tool's whole schema, to which references lead.
        depth: How deep it is nested already.

    Raises:
        NotExpressibleError: It is not described, or nested too deep.
    """
    if depth > _DEEPEST:
        raise NotExpressibleError(f"its schema is nested more than {_DEEPEST} levels deep")
    schema = _resolved(schema, root, 0)
    if "const" in schema:
        return _choices([schema["const"]])
    if "enum" in schema:
        return _choices(schema["enum"])
    if "anyOf" in schema:
        return {"anyOf": [closed_shape(one, root, depth + 1) for one in schema["anyOf"]]}
    kinds = _kinds(schema)
    if kinds and kinds <= _SCALARS:
        return {"type": schema["type"]}
    if kinds == {"array"} and isinstance(items := schema.get("items"), Mapping):
        return {"type": "array", "items": closed_shape(items, root, depth + 1)}
    if kinds == {"object"} and schema.get("properties"):
        required = schema.get("required", ())
        return closed_object(
            {
                name: closed_shape(one, root, depth + 1)
                for name, one in schema["properties"].items()
                if name in required or takes_null(one, root)
            }
        )
    raise NotExpressibleError("its schema leaves open what it is")


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    kinds = schema.get("type", ())
    return {kinds} if isinstance(kinds, str) else set(kinds)


def _choices(values: list[Any]) -> Schema:
    if not all(isinstance(value, str) for value in values):
        raise NotExpressibleError("its choices are not all texts")
    return {"type": "string", "enum": values}


def _resolved(schema: Any, root: Mapping[str, Any], followed: int) -> Mapping[str, Any]:
    if not isinstance(schema, Mapping):
        return {}
    target = schema.get("$ref")
    if target is None:
        return schema
    if followed > _DEEPEST or not target.startswith("#/"):
        raise NotExpressibleError("its schema refers to itself")
    found: Any = root
    for step in target[2:].split("/"):
        found = found[step.replace("~1", "/").replace("~0", "~")]
    return _resolved(found, root, followed + 1)
