"""TOL-2: input schemas are kept whole, judged when they are normalised, and never completed from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from treelang import ProviderResponseError
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._generated import schemas
from treelang_conformance.checks.tools._hosted import RecordedTool
from treelang_conformance.checks.tools._use import is_same_json, listed, looked_up, only_one
from treelang_conformance.examples import for_examples
from treelang_conformance.hosting import CannotHost, closed
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.provider.script import Reply
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import Violation, about

_KEPT = "Hand the input schema on as it is: rebuilding it from its properties loses what the rebuilding does not know."

_RICH: dict[str, Any] = {
    "assertions": closed(
        {"a": {"type": ["object", "null"], "minProperties": 1}, "b": {"const": 1}, "c": {"enum": [[], 0]}}
    ),
    "bounds": closed({"a": {"type": "number", "minimum": 0, "exclusiveMaximum": 9.5, "multipleOf": 0.5}}),
    "texts": closed(
        {"a": {"type": "string", "pattern": "^[a-z]+$", "minLength": 1, "maxLength": 9, "format": "email"}}
    ),
    "arrays": closed({"a": {"type": "array", "prefixItems": [{}, {"type": "null"}], "items": False, "contains": {}}}),
    "combinations": closed({"a": {"anyOf": [{"type": "null"}, {"allOf": [{"minimum": 1}]}], "not": {"const": 3}}}),
    "conditions": closed({"a": {"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"oneOf": [{}]}}}),
    "annotations": closed(
        {"a": {"title": "A", "description": "An a.", "examples": [1], "deprecated": True, "x-own": {}}}
    ),
    "nested order": closed({"z": {"type": "object", "properties": {"q": {}, "b": {}}, "required": ["q"]}, "a": {}}),
    "unicode": closed({"größe": {"description": "木\u2028"}, "木": {"enum": ["é", "e\u0301"]}}),
    "odd names": closed({"x-1": {}, "$ref": {}, "a.b": {}, "class": {}}),
    "boolean schemas": closed({"a": True, "b": {"items": False}}),
    "objects in arrays": closed({"a": {"items": {"properties": {"b": {}, "a": {}}, "required": ["b"]}}}),
    "definitions of no use": closed({"a": {}}, **{"$defs": {"unused": {"type": "null", "default": None}}}),
    "large numbers": closed({"a": {"maximum": 2**53 + 1, "minimum": -0.1, "enum": [1, 1.5, None]}}),
    "optional": {"type": "object", "properties": {"b": {}, "a": {}}, "required": ["a"], "additionalProperties": False},
    "open": {"type": "object", "properties": {"a": {}}, "required": ["a"]},
    "no properties": {"type": "object"},
    "recursion": closed({"a": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}}),
    "root combinations": closed({"a": {}, "b": {}}, allOf=[{"dependentRequired": {"a": ["b"]}}], oneOf=[{}]),
    "unevaluated": {"type": "object", "properties": {"a": {}}, "unevaluatedProperties": {"type": "null"}},
    "patterns of names": {"type": "object", "patternProperties": {"^x": {}}, "propertyNames": {"maxLength": 5}},
    "root annotations": closed({"a": {}}, title="T", description="D", **{"x-own": [1, {"b": None}], "$comment": "c"}),
    "dialect": closed({"a": {}}, **{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:a:b"}),
}


@check("TOL-2", suite=SuiteName.TOOLS, over=_RICH, hint=_KEPT)
async def a_schema_is_kept_whole(case: ToolsCase, schema: dict[str, Any]) -> None:
    """The definition has the schema as it was given, in the listing and in a look-up, with its properties in order."""
    provider = await case.hosting(RecordedTool(schema=schema).hosted)
    for definition in (*await listed(case, provider), await looked_up(case, provider, "measure")):
        _require_kept(case, schema, definition.complete_schema())


@check("TOL-2", suite=SuiteName.TOOLS, hint=_KEPT)
async def any_schema_is_kept_whole(case: ToolsCase) -> None:
    """Whatever valid schema a tool has, its definition has the same."""
    judged = 0

    async def judge(schema: dict[str, Any]) -> None:
        nonlocal judged
        try:
            async with case.subject.hosting((RecordedTool(schema=schema).hosted,)) as provider:
                definition = await only_one(case, provider)
        except CannotHost:
            return
        judged += 1
        _require_kept(case, schema, definition.complete_schema())

    await for_examples(case, schemas(), judge, at_most=12)
    if not judged:
        case.not_applicable("none of the schemas that were made can be hosted")


def _require_kept(case: ToolsCase, given: dict[str, Any], kept: dict[str, Any]) -> None:
    case.require(
        is_same_json(given, kept),
        expected=f"the schema {shortened(given)}",
        happened=f"the definition has {shortened(kept)}",
    )
    ordered = list(given.get("properties", ()))
    case.require(
        list(kept.get("properties", ())) == ordered,
        expected=f"the properties in the order {ordered}",
        happened=f"they stand in the order {list(kept.get('properties', ()))}",
    )


_INVALID: dict[str, Any] = {
    "a type that is a number": closed({"a": {"type": 5}}),
    "an unknown type": closed({"a": {"type": "text"}}),
    "a bound that is a text": closed({"a": {"minimum": "a"}}),
    "required that is no list": closed({"a": {"type": "object", "required": "a"}}),
    "a pattern that is none": closed({"a": {"pattern": "(["}}),
    "a dangling reference": closed({"a": {"$ref": "#/$defs/nowhere"}}),
    "an array": {"type": "array", "items": {}},
    "root required that is no list": {"type": "object", "required": 5},
    "properties that are a list": {"type": "object", "properties": ["a"]},
    "deep inside": closed({"a": {"anyOf": [{"items": {"properties": {"b": {"maxLength": -1}}}}]}}),
    "no JSON": closed({"a": {"const": float("nan")}}),
}

_CHECKED = "Build a ToolDefinition from what the tool says, which judges the schema; do not skip or repair a bad one."


@check("TOL-2", suite=SuiteName.TOOLS, over=_INVALID, hint=_CHECKED)
async def an_invalid_schema_is_refused(case: ToolsCase, schema: dict[str, Any]) -> None:
    """An invalid schema raises `ProviderResponseError`, beside a valid tool too, and in listings and in look-ups."""
    await _require_refused(case, schema)


def _referring(reference: str, **further: Any) -> dict[str, Any]:
    return closed({"a": {"$ref": reference}}, **further)


_EXTERNAL: dict[str, Callable[[str], dict[str, Any]]] = {
    "an address": lambda url: _referring(f"{url}/schema.json"),
    "an address with a fragment": lambda url: _referring(f"{url}/schema.json#/$defs/tree"),
    "a file": lambda _: _referring("file:///nowhere/schema.json"),
    "a relative path": lambda _: _referring("schema.json"),
    "relative to an id": lambda url: _referring("schema.json", **{"$id": f"{url}/root.json"}),
    "deep inside": lambda url: closed({"a": {"anyOf": [{}, {"items": {"not": {"$ref": f"{url}/schema.json"}}}]}}),
    "at the root": lambda url: {"type": "object", "$ref": f"{url}/schema.json"},
    "in a definition": lambda url: _referring("#/$defs/t", **{"$defs": {"t": {"$ref": f"{url}/schema.json"}}}),
    "in a definition of no use": lambda url: closed({"a": {}}, **{"$defs": {"t": {"$ref": f"{url}/schema.json"}}}),
    "a dynamic reference": lambda url: closed({"a": {"$dynamicRef": f"{url}/schema.json#node"}}),
}
"""Schemas that refer outside of themselves, given the address of a server that would answer."""


@check(
    "TOL-2",
    suite=SuiteName.TOOLS,
    over=_EXTERNAL,
    hint="Resolve nothing: an address in a schema is not to be followed.",
)
async def an_external_reference_is_refused_and_not_fetched(
    case: ToolsCase, referring: Callable[[str], dict[str, Any]]
) -> None:
    """A reference out of the schema raises `ProviderResponseError`, and no request is made."""
    answer = Reply.json({"type": "string", "$defs": {"tree": {"type": "string"}}})
    case.provider.answer_by(lambda _: answer)
    try:
        await _require_refused(case, referring(case.provider.url))
    finally:
        sent = len(case.provider.requests)
        if sent:
            raise Violation(expected="nothing to be fetched", happened=f"{sent} request(s) were made for the schema")


async def _require_refused(case: ToolsCase, schema: dict[str, Any]) -> None:
    bad = RecordedTool("bad", schema=schema)
    for tools in ((RecordedTool("measure"), bad, RecordedTool("count")), (RecordedTool("measure"), bad)):
        with about(f"the bad tool as {tools.index(bad) + 1} of {len(tools)}"):
            await _require_refused_among(case, tools, schema)


async def _require_refused_among(case: ToolsCase, tools: Sequence[RecordedTool], schema: dict[str, Any]) -> None:
    try:
        provider = await case.hosting(*(tool.hosted for tool in tools))
    except ProviderResponseError:
        return  # as early as can be
    uses: Mapping[str, Callable[[], Awaitable[Any]]] = {
        "the listing": lambda: listed(case, provider),
        "a look-up": lambda: looked_up(case, provider, "bad"),
        "a second listing": lambda: listed(case, provider),
    }
    for what, use in uses.items():
        try:
            found = await use()
            happened = f"it gave {shortened(found)}"
        except ProviderResponseError:
            continue
        except Violation:
            raise
        except Exception as error:
            happened = f"it raised {type_name(error)}"
        with about(f"the schema {shortened(json.dumps(schema))}"):
            case.require(False, expected=f"{what} to raise ProviderResponseError", happened=happened)
