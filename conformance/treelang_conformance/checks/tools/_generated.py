"""Schemas and arguments for the property checks: of keywords that all engines of JSON Schema read alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treelang_conformance.examples import numbers, texts
from treelang_conformance.hosting import closed

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _one_of(*choices: Any) -> SearchStrategy[Any]:
    return numbers(4).map(lambda number: choices[number % len(choices)])


def _either(*choices: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """One of several strategies; hypothesis' own `one_of` draws a number, for the sake of which see `numbers`."""
    return numbers(4).flatmap(lambda number: choices[number % len(choices)])


def _scalars() -> SearchStrategy[Any]:

    whole = numbers(4).map(lambda number: number - 8)
    return _either(_one_of(None, True, False), whole, whole.map(lambda n: n + 0.5), texts(most=4))


def values() -> SearchStrategy[Any]:
    """JSON values, not deep."""
    from hypothesis import strategies

    names = _one_of("a", "b")
    lists = strategies.lists(_scalars(), max_size=3)
    return _either(_scalars(), lists, strategies.lists(strategies.tuples(names, _scalars()), max_size=2).map(dict))


def _property() -> SearchStrategy[Any]:
    from hypothesis import strategies

    kinds = _one_of("null", "boolean", "integer", "number", "string", "array", "object")
    counts = numbers(2)
    simple = _either(
        kinds.map(lambda kind: {"type": kind}),
        values().map(lambda value: {"const": value}),
        strategies.lists(values(), min_size=1, max_size=3).map(lambda several: {"enum": several}),
        counts.map(lambda count: {"type": "integer", "minimum": count - 2}),
        counts.map(lambda count: {"type": "string", "maxLength": count, "description": "x"}),
        counts.map(lambda count: {"type": "array", "minItems": count, "default": []}),
    )
    return _either(
        simple,
        simple.map(lambda inner: {"type": "array", "items": inner}),
        simple.map(lambda inner: {"type": "object", "properties": {"a": inner}, "required": ["a"]}),
        strategies.lists(simple, min_size=1, max_size=2).map(lambda inner: {"anyOf": inner}),
        simple.map(lambda inner: {"not": inner}),
    )


def schemas() -> SearchStrategy[dict[str, Any]]:
    """Valid schemas of closed objects with one to three properties, in an order that is not the alphabet's."""
    from hypothesis import strategies

    properties = strategies.lists(_property(), min_size=1, max_size=3)
    return properties.map(lambda drawn: closed(dict(zip(("z", "a", "m"), drawn, strict=False))))


def schemas_with_arguments() -> SearchStrategy[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Schemas with arguments of their properties, some of which fit."""
    from hypothesis import strategies

    drawn = strategies.tuples(schemas(), strategies.lists(strategies.tuples(values(), values(), values()), max_size=6))
    return drawn.map(
        lambda pair: (pair[0], [dict(zip(pair[0]["properties"], several, strict=False)) for several in pair[1]])
    )
