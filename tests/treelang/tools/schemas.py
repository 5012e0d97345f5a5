"""Schemas and values for the property tests of validation."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = ["a", "b", "ab", "x-1", "é"]
TEXTS = st.one_of(
    st.sampled_from(["", "a", "ab", "aab", "é", "A1", "2024-02-30", "2024-02-29", "\U0001f600"]), st.text(max_size=4)
)
NUMBERS = st.one_of(
    st.integers(-4, 4),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.5, 1e300, 10**20, -(2**63) - 1, 2**64]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)),
    max_leaves=8,
)
ARGUMENTS = st.fixed_dictionaries({"a": VALUES, "b": VALUES})

_TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
_COUNTS = st.integers(0, 3)
_BOUNDS = st.one_of(st.integers(-3, 3), st.sampled_from([-1.5, 0.5, 2.0, 1e20]))
# What the two engines read alike; where their dialects differ is decided in a table of its own.
_PATTERNS = st.sampled_from(["^a", "b", "^[a-z]*$", "^(a|b)+$", "^.{2}", "1|é", "^[^a]"])

_ASSERTIONS = {
    "type": st.one_of(st.sampled_from(_TYPES), st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3, unique=True)),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "minimum": _BOUNDS,
    "maximum": _BOUNDS,
    "exclusiveMinimum": _BOUNDS,
    "exclusiveMaximum": _BOUNDS,
    "multipleOf": st.sampled_from([1, 2, 3, 0.5, 2.0]),
    "minLength": _COUNTS,
    "maxLength": _COUNTS,
    "pattern": _PATTERNS,
    "format": st.sampled_from(["date-time", "uri", "unheard-of"]),
    "minItems": _COUNTS,
    "maxItems": _COUNTS,
    "uniqueItems": st.booleans(),
    "minContains": _COUNTS,
    "maxContains": _COUNTS,
    "minProperties": _COUNTS,
    "maxProperties": _COUNTS,
    "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
    "dependentRequired": st.dictionaries(
        st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2, unique=True), max_size=2
    ),
    "default": VALUES,
    "description": st.text(max_size=3),
    "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two", "#named"]),
}


def _keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    return _ASSERTIONS | {
        "properties": by_name,
        "patternProperties": st.dictionaries(_PATTERNS, inner, max_size=2),
        "additionalProperties": inner,
        "unevaluatedProperties": inner,
        "propertyNames": inner,
        "dependentSchemas": by_name,
        "items": inner,
        "prefixItems": several,
        "contains": inner,
        "unevaluatedItems": inner,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
    }


def _some(keywords: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )


SCHEMAS = st.recursive(
    st.one_of(_some(_ASSERTIONS), st.booleans()), lambda inner: _some(_keywords(inner)), max_leaves=6
)
_PLAIN = st.recursive(
    _some({name: values for name, values in _ASSERTIONS.items() if name != "$ref"}),
    lambda inner: st.fixed_dictionaries({"items": inner, "properties": st.dictionaries(st.sampled_from(NAMES), inner)}),
    max_leaves=3,
)


@st.composite
def input_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Valid schemas of objects with `a` and `b`, whose references lead into definitions that refer no further."""
    return {
        "type": "object",
        "properties": {"a": draw(SCHEMAS), "b": draw(SCHEMAS)},
        **draw(_some({name: _keywords(SCHEMAS)[name] for name in ("allOf", "not", "unevaluatedProperties", "if")})),
        "$defs": {"one": draw(_PLAIN), "two": draw(_PLAIN), "three": {"$anchor": "named", **draw(_PLAIN)}},
    }


@st.composite
def perhaps_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Objects made of the keywords of schemas, with fitting values and with others."""
    keywords = _keywords(st.one_of(SCHEMAS, VALUES))
    unfit = VALUES.filter(lambda value: not isinstance(value, str | dict))
    names = sorted(keywords.keys() - {"$ref", "type"})
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    schema = {name: draw(st.one_of(keywords[name], unfit)) for name in chosen}
    return {**schema, "$defs": {"one": True, "two": True, "three": {"$anchor": "named"}}}
