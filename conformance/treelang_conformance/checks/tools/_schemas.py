"""Input schemas for the checks: sound ones of many kinds, broken ones, and some that refer outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treelang_conformance.checks.tools._hosted import TEXT, closed
from treelang_conformance.examples import numbers, texts

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_NODE = {
    "type": "object",
    "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 9}},
    "required": ["name"],
    "additionalProperties": False,
}

WHOLE: Mapping[str, Mapping[str, Any]] = {
    "annotated": closed(
        {
            "tree": {"type": "string", "title": "Baum \u6728", "description": 'A "tree"\n', "examples": ["oak"]},
            "height": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 130.5, "multipleOf": 0.5},
        }
    ),
    "optional": {
        "type": "object",
        "properties": {"tree": TEXT, "unit": {"enum": ["m", "ft", None]}},
        "required": ["tree"],
    },
    "nested": closed(
        {"place": closed({"city": {"type": "string", "minLength": 1, "pattern": "^[A-Z]"}, "at": closed({})})}
    ),
    "definitions": closed({"tree": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": _NODE}}),
    "recursive-root": {"$defs": {"node": _NODE}, "type": "object", "$ref": "#/$defs/node"},
    "combined": closed(
        {
            "size": {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "any"}]},
            "kind": {"allOf": [TEXT, {"not": {"const": ""}}], "oneOf": [{"maxLength": 3}, {"minLength": 4}]},
        }
    ),
    "conditional": {
        "type": "object",
        "properties": {"kind": TEXT, "age": {"type": "integer"}},
        "if": {"properties": {"kind": {"const": "oak"}}},
        "then": {"required": ["age"]},
        "else": {"properties": {"age": False}},
    },
    "patterns-of-names": {
        "type": "object",
        "patternProperties": {"^x-": TEXT},
        "propertyNames": {"maxLength": 10},
        "unevaluatedProperties": False,
        "minProperties": 1,
    },
    "tuples": closed(
        {"pair": {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False, "uniqueItems": True}}
    ),
    "dependent": {
        "type": "object",
        "properties": {"from": TEXT, "to": TEXT},
        "dependentRequired": {"from": ["to"]},
        "dependentSchemas": {"to": {"required": ["from"]}},
    },
    "booleans": {"type": "object", "properties": {"any": True, "never": False}, "additionalProperties": TEXT},
    "own-keywords": closed({"tree": {**TEXT, "x-widget": {"rows": [1, 2.5, None]}}}, **{"x-order": ["tree"]}),
    "named-like-keywords": closed({"type": TEXT, "properties": {"type": "object"}, "required": {"type": "boolean"}}),
    "beyond-ascii": closed({"h\u00f6he": {"type": "number"}, "\u6728 \U0001f332": TEXT, 'say "hi"': TEXT}),
    "dialect": closed({"tree": TEXT}, **{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T"}),
}
"""Sound schemas by what is special about them."""

_BROKEN_PROPERTIES: Mapping[str, Any] = {
    "an-unknown-type": {"type": "text"},
    "a-type-that-is-no-name": {"type": 5},
    "a-bound-that-is-text": {"type": "integer", "minimum": "1"},
    "a-negative-length": {"type": "string", "maxLength": -1},
    "a-pattern-that-is-none": {"type": "string", "pattern": "("},
    "an-enumeration-that-is-none": {"enum": "m"},
    "items-that-are-no-schema": {"type": "array", "items": 7},
}

BROKEN: Mapping[str, Mapping[str, Any]] = {
    **{name: closed({"tree": broken}) for name, broken in _BROKEN_PROPERTIES.items()},
    "a-reference-to-nothing": closed({"tree": {"$ref": "#/$defs/nothing"}}),
    "required-that-is-no-list": {"type": "object", "properties": {"tree": TEXT}, "required": "tree"},
    "properties-that-are-a-list": {"type": "object", "properties": ["tree"]},
    "a-list-for-arguments": {"type": "array", "items": TEXT},
    "a-broken-schema-deep-inside": closed(
        {"tree": {"anyOf": [TEXT, {"type": "object", "properties": {"a": {"items": [{"minItems": -1}]}}}]}}
    ),
}
"""Schemas that are invalid under Draft 2020-12, or describe no arguments."""


def referring(address: str) -> Mapping[str, Mapping[str, Any]]:
    """Schemas that refer outside of themselves, to an address of the loopback among others."""
    outside = {"$ref": f"{address}/tree.json"}
    return {
        "in-a-property": closed({"tree": outside}),
        "at-the-root": {"type": "object", **outside},
        "deep-inside": closed({"trees": {"type": "array", "items": {"anyOf": [TEXT, outside]}}}),
        "in-a-definition": closed({"tree": {"$ref": "#/$defs/tree"}}, **{"$defs": {"tree": outside}}),
        "in-a-definition-that-nothing-uses": closed({"tree": TEXT}, **{"$defs": {"other": outside}}),
        "with-a-fragment": closed({"tree": {"$ref": f"{address}/all.json#/$defs/tree"}}),
        "dynamic": closed({"tree": {"$dynamicRef": f"{address}/tree.json#node"}}),
        "relative": closed({"tree": {"$ref": "tree.json"}}),
        "relative-to-an-id": closed({"tree": {"$ref": "tree.json"}}, **{"$id": f"{address}/root.json"}),
        "to-a-file": closed({"tree": {"$ref": "file:///tree.json"}}),
    }


OUTSIDE = tuple(referring("http://127.0.0.1"))
"""The names of what `referring` gives."""


def schemas() -> SearchStrategy[dict[str, Any]]:
    """Schemas of one argument, sound, of keywords that all validators read alike."""
    from hypothesis import strategies

    small = numbers(2)
    leaf = strategies.one_of(
        strategies.just({}),
        strategies.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"]).map(_of_type),
        strategies.tuples(numbers(3), small).map(
            lambda drawn: {"minimum": drawn[0] - 4, "maximum": drawn[0] + drawn[1] - 4}
        ),
        strategies.tuples(small, small).map(lambda drawn: {"minLength": drawn[0], "maxLength": drawn[0] + drawn[1]}),
        strategies.lists(scalars(), min_size=1, max_size=3).map(lambda drawn: {"enum": drawn}),
        texts(most=4).map(lambda drawn: {"type": "string", "description": drawn, "default": drawn}),
    )
    return strategies.recursive(leaf, _nested, max_leaves=4)


def _of_type(name: str) -> dict[str, Any]:
    return {"type": name}


def _nested(inner: SearchStrategy[dict[str, Any]]) -> SearchStrategy[dict[str, Any]]:
    from hypothesis import strategies

    return strategies.one_of(
        strategies.tuples(inner, numbers(2)).map(
            lambda drawn: {"type": "array", "items": drawn[0], "maxItems": drawn[1]}
        ),
        inner.map(lambda one: closed({"a": one})),
        strategies.lists(inner, min_size=1, max_size=2).map(lambda several: {"anyOf": several}),
        inner.map(lambda one: {"not": one}),
        strategies.tuples(inner, inner).map(lambda drawn: {"allOf": list(drawn)}),
    )


def scalars() -> SearchStrategy[Any]:
    """Texts, whole numbers and halves, all told apart in JSON by every validator."""
    from hypothesis import strategies

    whole = numbers(4).map(lambda number: number - 8)
    return strategies.one_of(texts(most=3), whole, whole.map(lambda number: number + 0.5))


def values() -> SearchStrategy[Any]:
    """Any JSON values, small ones."""
    from hypothesis import strategies

    leaf = strategies.one_of(scalars(), strategies.sampled_from([None, True, False]))
    return strategies.recursive(
        leaf,
        lambda inner: strategies.one_of(
            strategies.lists(inner, max_size=3),
            inner.map(lambda one: {"a": one}),
            inner.map(lambda one: {"b": one}),
        ),
        max_leaves=4,
    )
