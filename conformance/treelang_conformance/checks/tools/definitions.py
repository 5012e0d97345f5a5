"""TOL-2 and TOL-3: what a definition says of a tool's arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from treelang import (
    InvalidToolArgumentsError,
    ProviderResponseError,
    ToolDefinition,
)
from treelang.tools.validation import compile_tool
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._hosted import INTEGER, TEXT, RecordedTool, closed
from treelang_conformance.checks.tools._schemas import BROKEN, OUTSIDE, WHOLE, referring, schemas
from treelang_conformance.checks.tools._use import evaluated, listed, looked_up
from treelang_conformance.examples import for_examples
from treelang_conformance.hosting import CannotHost
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.provider.script import Reply
from treelang_conformance.registry import SuiteName, check

_WHOLE = "Pass the schema on as it is: no keyword is yours to drop, to reorder or to resolve."
_REFUSED = (
    "Build every definition with ToolDefinition or ToolDefinition.of, which judge its schema, and hide no failure."
)


@check("TOL-2", suite=SuiteName.TOOLS, over=WHOLE, hint=_WHOLE)
async def an_input_schema_is_preserved_whole(case: ToolsCase, schema: Mapping[str, Any]) -> None:
    """A sound schema comes back as it was described, in the listing and in a look-up."""
    provider = await case.hosting(RecordedTool(schema=schema).hosted)
    for definition in (*await listed(case, provider), await looked_up(case, provider, "measure")):
        _require_whole(case, definition, schema)


@check("TOL-2", suite=SuiteName.TOOLS, hint=_WHOLE)
async def any_input_schema_is_preserved_whole(case: ToolsCase) -> None:
    """The same for schemas that nobody has thought of."""
    from hypothesis import strategies

    async def judge(drawn: list[dict[str, Any]]) -> None:
        tools = [RecordedTool(f"tool_{number}", schema=closed({"a": one})) for number, one in enumerate(drawn)]
        provider = await case.hosting(*(tool.hosted for tool in tools))
        found = {definition.name: definition for definition in await listed(case, provider)}
        for tool in tools:
            assert tool.hosted.input_schema is not None  # noqa: S101  # told to the type checker
            _require_whole(case, found[tool.hosted.name], tool.hosted.input_schema)

    await for_examples(case, strategies.lists(schemas(), min_size=6, max_size=12), judge, at_most=8)


def _require_whole(case: ToolsCase, definition: ToolDefinition, schema: Mapping[str, Any]) -> None:
    found = definition.complete_schema()
    case.require(
        json.dumps(found, sort_keys=True) == json.dumps(schema, sort_keys=True),
        expected=f"the schema {shortened(schema, 400)}",
        happened=f"the definition has {shortened(found, 400)}",
    )
    properties = list(schema.get("properties", ()))
    case.require(
        list(found.get("properties", ())) == properties,
        expected=f"its properties in the order {properties}",
        happened=f"they come in the order {list(found.get('properties', ()))}",
    )


@check("TOL-2", suite=SuiteName.TOOLS, over=BROKEN, hint=_REFUSED)
async def an_invalid_schema_is_refused(case: ToolsCase, schema: Mapping[str, Any]) -> None:
    """A tool whose schema is invalid makes discovery raise `ProviderResponseError`, and is not left out."""
    await _require_refusal(case, schema)


@check("TOL-2", suite=SuiteName.TOOLS, over={name: name for name in OUTSIDE}, hint="Nothing is fetched: refuse it.")
async def an_external_reference_is_refused_and_not_followed(case: ToolsCase, name: str) -> None:
    """A schema that refers outside of itself raises `ProviderResponseError`, and nothing is fetched."""
    case.provider.answer_by(lambda _: Reply.json({"type": "string"}))
    await _require_refusal(case, referring(case.provider.url)[name])
    fetched = [request.path for request in case.provider.requests]
    case.require(not fetched, expected="nothing to be fetched", happened=f"{fetched[:1]} was asked for")


async def _require_refusal(case: ToolsCase, schema: Mapping[str, Any]) -> None:
    sound, broken = RecordedTool("sound", schema=closed({"tree": TEXT})), RecordedTool("broken", schema=schema)
    for tools in ((broken,), (sound, broken)):
        for discover in (_list, _look_up):
            await _require_refused_by(case, tools, discover)


async def _list(case: ToolsCase, tools: Sequence[RecordedTool]) -> Any:
    return await listed(case, await case.hosting(*(tool.hosted for tool in tools)))


async def _look_up(case: ToolsCase, tools: Sequence[RecordedTool]) -> Any:
    return await looked_up(case, await case.hosting(*(tool.hosted for tool in tools)), "broken")


async def _require_refused_by(case: ToolsCase, tools: Sequence[RecordedTool], discover: Any) -> None:
    try:
        found = await discover(case, tools)
    except ProviderResponseError:
        return
    except CannotHost:
        raise
    except Exception as error:
        happened = f"it raised {type_name(error)}"
    else:
        happened = f"it gave {shortened(found)}"
    what = "the listing" if discover is _list else "the look-up of the broken one"
    others = " beside a sound tool" if len(tools) > 1 else ""
    case.require(False, expected=f"ProviderResponseError from {what}{others}", happened=happened)


# --- TOL-3 ---

_ALONE: Mapping[str, Mapping[str, Any]] = {
    "no-property": {},
    "one-property": {"tree": TEXT},
    "several-properties": {"tree": TEXT, "height": INTEGER, "bark": {"type": ["string", "null"]}},
    "a-property-with-a-default": {
        "tree": TEXT,
        "height": {"type": "integer", "default": 1, "description": "In metres."},
    },
}
_FITTING = {"tree": "oak", "height": 40, "bark": None}


@check(
    "TOL-3",
    suite=SuiteName.TOOLS,
    over=_ALONE,
    hint="Without an input schema: `required` are all properties, and `additionalProperties` is false.",
)
async def properties_alone_are_required_and_nothing_else_is_allowed(
    case: ToolsCase, properties: Mapping[str, Any]
) -> None:
    """A tool that is described by its properties alone takes all of them and no other."""
    tool = RecordedTool(properties=properties)
    provider = await case.hosting(tool.hosted)
    definition = (await listed(case, provider))[0]
    case.require(
        list(definition.properties) == list(properties),
        expected=f"the properties {list(properties)}",
        happened=f"they are {list(definition.properties)}",
    )
    whole = {name: _FITTING[name] for name in properties}
    wrong = [{**whole, "further": 1}, *({key: whole[key] for key in whole if key != name} for name in whole)]
    compiled = compile_tool(definition)
    try:
        compiled.validate(whole)
    except InvalidToolArgumentsError as error:
        case.require(False, expected=f"the arguments {whole} to be taken", happened=str(error))
    for arguments in wrong:
        ended = await evaluated(case, provider, "measure", arguments)
        case.require(
            isinstance(ended.error, InvalidToolArgumentsError),
            expected=f"the arguments {arguments} to be refused",
            happened=str(ended),
        )
    case.require(not tool.came, expected="the tool not to be called", happened=f"it was, with {tool.came}")
    ended = await evaluated(case, provider, "measure", whole)
    case.require(ended.error is None, expected=f"a call with {whole}", happened=str(ended))
