"""What a tool's own schema says of a value, in strict words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from treelang.language.strict.subset import NotExpressibleError, Schema, array, closed_object, one_of, reference, walk

CONSTANT = reference("Constant")
"""Any value that is no object: what a tool leaves open can be that."""

SCALAR = reference("Scalar")

_SCALARS = ("string", "number", "integer", "boolean", "null")
_LARGEST = 1e300
"""No transport sends a schema with a number beyond it (`check_request`)."""

_MOST_PARTS, _DEEPEST = 1_000, 50
"""How many parts a tool's schema may have, and how deep they may be nested, with what references mean in their place:
these can make a short schema endless."""

_NOT_BY_PATH = "its schema refers to a place by another way than its path"

_CONDITIONS = frozenset({"not", "if", "dependentSchemas"})
"""Words that say of a value what no strict schema can, and without which it may well be no value for the tool."""


class Shapes:
    """The strict shapes of values that one tool's schema describes.

    What a shape accepts, the tool's schema accepts but for bounds of values (`minimum`, `pattern` and so on): whether
    evaluated arguments keep to them is judged before every call anyway.

    Args:
        root: The complete schema of the tool's arguments, to which references lead.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._parts = 0

    def value(self, schema: Any, depth: int = 0, followed: frozenset[str] = frozenset()) -> Schema:
        """The shape of a value.

        Args:
            schema: A part of the tool's schema.
            depth: In how many parts of the schema it stands.
            followed: The references that led to it.

        Raises:
            NotExpressibleError: Strict output has no such shape; the message says why.
        """
        self._parts += 1
        if self._parts > _MOST_PARTS or depth > _DEEPEST:
            raise NotExpressibleError("its schema is too large")
        if schema is True:
            return CONSTANT
        if schema is False or schema.keys() & _CONDITIONS:
            raise NotExpressibleError("its schema has conditions")
        if "$dynamicRef" in schema:
            raise NotExpressibleError(_NOT_BY_PATH)
        if "$ref" in schema:
            target: str = schema["$ref"]
            if target in followed:
                raise NotExpressibleError("its schema refers to itself")
            return self.value(self._referred(target, schema), depth + 1, followed | {target})
        if "const" in schema:
            return _choice([schema["const"]])
        if "enum" in schema:
            return _choice(schema["enum"])
        if not schema.keys() & {"type", "properties"}:
            for word in ("anyOf", "oneOf", "allOf"):
                if word in schema:
                    return self._combined(word, schema[word], depth, followed)
        kinds = _kinds(schema)
        alternatives = _scalars(kind for kind in kinds if kind in _SCALARS)
        if "array" in kinds:
            alternatives.append(self._list(schema, depth, followed))
        if "object" in kinds:
            alternatives.append(self._object(schema, depth, followed))
        return one_of(*alternatives) if alternatives else CONSTANT

    def _combined(self, word: str, some: Sequence[Any], depth: int, followed: frozenset[str]) -> Schema:
        if word == "allOf" and len(some) > 1:
            raise NotExpressibleError("its schema is made of several")
        return _union([self.value(one, depth + 1, followed) for one in some])

    def _list(self, schema: Mapping[str, Any], depth: int, followed: frozenset[str]) -> Schema:
        items = [*schema.get("prefixItems", ()), *([schema["items"]] if schema.get("items") else ())]
        return array(_union([self.value(one, depth + 1, followed) for one in items]) if items else SCALAR)

    def _object(self, schema: Mapping[str, Any], depth: int, followed: frozenset[str]) -> Schema:
        """An object's closed shape. Of its optional properties those are left out that cannot be required."""
        required = schema.get("required", ())
        properties: Schema = {}
        for name, described in schema.get("properties", {}).items():
            try:
                value = self.value(described, depth + 1, followed)
            except NotExpressibleError:
                if name in required:
                    raise
                continue
            if name in required or takes_null(value) or has_default(described):
                properties[name] = value
        if not properties or not properties.keys() >= set(required):
            raise NotExpressibleError("it is an object, and its schema leaves open what it holds")
        return closed_object(properties)

    def required(self) -> frozenset[str]:
        """The names of the arguments that have to be given, also where the root only refers to what says it."""
        schema, followed = self._root, set[str]()
        while "$ref" in schema and schema["$ref"] not in followed:
            followed.add(schema["$ref"])
            schema = self._referred(schema["$ref"], schema)
        return frozenset(schema.get("required", ()))

    def _referred(self, target: str, schema: Mapping[str, Any]) -> Any:
        """What a reference refers to, with what stands beside it."""
        found: Any = self._root
        first, *steps = target.split("/")
        try:
            if first != "#":
                raise KeyError(first)
            for step in steps:
                name = unquote(step).replace("~1", "/").replace("~0", "~")
                found = found[int(name)] if isinstance(found, list) else found[name]
        except (KeyError, IndexError, ValueError):
            raise NotExpressibleError(_NOT_BY_PATH) from None
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return found if isinstance(found, bool) else {**found, **beside}


def takes_null(value: Schema) -> bool:
    """Whether a shape takes null."""
    if value == CONSTANT:
        return True
    if "enum" in value:
        return None in value["enum"]
    return "null" in value.get("type", ()) or any(map(takes_null, value.get("anyOf", ())))


def holds_object(value: Schema) -> bool:
    """Whether a shape is, or may hold, an object."""
    return any(part.get("type") == "object" for part in walk(value))


def has_default(schema: Any) -> bool:
    """Whether a tool's schema names a default, which a model that has to give the argument can give."""
    return isinstance(schema, Mapping) and schema.get("default") is not None


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    """The types of a schema, also where it names none but has the words of one."""
    kinds = schema.get("type")
    if kinds is not None:
        return [kinds] if isinstance(kinds, str) else list(kinds)
    return ["object"] if "properties" in schema else ["array"] if schema.keys() & {"items", "prefixItems"} else []


def _choice(values: Sequence[Any]) -> Schema:
    if not values:
        raise NotExpressibleError("its schema has no value to choose")
    if any(isinstance(value, int | float) and not abs(value) < _LARGEST for value in values):
        raise NotExpressibleError("it is a number that is too large to be sent")
    kinds = list(dict.fromkeys(map(_kind, values)))
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case None:
            return "null"
    raise NotExpressibleError("it is one of several lists or objects")


def _union(shapes: Iterable[Schema]) -> Schema:
    flat = [inner for one in shapes for inner in one.get("anyOf", (one,))]
    scalars = dict.fromkeys(kind for one in flat if one.keys() == {"type"} for kind in _kinds(one))
    objects = {json.dumps(one): one for one in flat if one.get("type") == "object"}
    others = {json.dumps(one): one for one in flat if one.keys() != {"type"} and one.get("type") != "object"}
    return one_of(*_scalars(scalars), *others.values(), *_told_apart(list(objects.values())))


def _scalars(kinds: Iterable[str]) -> list[Schema]:
    """One shape for all of these types, which makes one choice of many."""
    scalars = list(kinds)
    return [{"type": scalars[0] if len(scalars) == 1 else scalars}] if scalars else []


def _told_apart(objects: list[Schema]) -> list[Schema]:
    """Objects with their properties in such an order that their first keys differ, or the texts under these.

    By these a decoder has to know in which alternative it is; OpenAI refuses others.
    """
    if len(objects) < 2:
        return objects
    shapes: list[Schema] = [one["properties"] for one in objects]
    for name in shapes[0]:
        choices = [value for shape in shapes for value in shape.get(name, {}).get("enum", (None, None))]
        if len(set(map(json.dumps, choices))) == len(choices):
            return [_beginning_with(name, shape) for shape in shapes]
    own = [
        next((name for name in shape if not any(name in other for other in shapes if other is not shape)), None)
        for shape in shapes
    ]
    if own.count(None) > 1:
        raise NotExpressibleError("it is one of several objects that no key of their own tells apart")
    return list(map(_beginning_with, own, shapes))


def _beginning_with(name: str | None, properties: Schema) -> Schema:
    return closed_object(properties if name is None else {name: properties[name], **properties})
