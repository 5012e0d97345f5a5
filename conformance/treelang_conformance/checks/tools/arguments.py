"""TOL-5 and TOL-6: arguments that do not fit reach nobody, and those that do are not added to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from treelang import (
    ExecutionLimits,
    InvalidToolArgumentsError,
    ToolDefinition,
    ToolOutput,
    ToolProvider,
    TreelangError,
)
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._hosted import INTEGER, TEXT, RecordedTool, closed
from treelang_conformance.checks.tools._schemas import schemas, values
from treelang_conformance.checks.tools._use import called, evaluated, is_same_json, listed
from treelang_conformance.examples import for_examples
from treelang_conformance.outcome import shortened
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

_CANARY = "canary-argument-3f7a"
"""A value that no error may show."""


class _Misfit(NamedTuple):
    """Arguments that a schema refuses: where, and by which constraint."""

    schema: Mapping[str, Any]
    arguments: dict[str, Any]
    path: str
    constraint: str


_PLACE = closed({"city": {"type": "string", "maxLength": 9}, "height": {"type": "integer", "minimum": 0}})
_MISFITS: Mapping[str, _Misfit] = {
    "wrong-type": _Misfit(closed({"height": INTEGER}), {"height": _CANARY}, "height", "type"),
    "not-listed": _Misfit(closed({"unit": {"enum": ["m", "ft"]}}), {"unit": _CANARY}, "unit", "enum"),
    "not-the-pattern": _Misfit(
        closed({"unit": {"type": "string", "pattern": "^[0-9]+$"}}), {"unit": _CANARY}, "unit", "pattern"
    ),
    "missing": _Misfit(closed({"tree": TEXT, "height": INTEGER}), {"tree": _CANARY}, "height", "required"),
    "one-too-many": _Misfit(closed({"tree": TEXT}), {"tree": "oak", "other": _CANARY}, "", "additionalProperties"),
    "nested": _Misfit(closed({"place": _PLACE}), {"place": {"city": _CANARY, "height": 1}}, "place.city", "maxLength"),
    "in-a-list": _Misfit(
        closed({"trees": {"type": "array", "items": INTEGER}}), {"trees": [1, 2, _CANARY]}, "trees.2", "type"
    ),
}


class _Counting(ToolProvider):
    """The provider under test, and how often it is called."""

    def __init__(self, provider: ToolProvider) -> None:
        self._provider = provider
        self.calls = 0

    async def list_tools(self) -> list[ToolDefinition]:
        return await self._provider.list_tools()

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        return await self._provider.get_tool_definition(name)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        self.calls += 1
        return await self._provider.call_tool(name, arguments)


@check(
    "TOL-5",
    suite=SuiteName.TOOLS,
    over=_MISFITS,
    hint="The schema of the definition is what arguments are held against: what it does not say is not refused.",
)
async def invalid_arguments_reach_no_provider(case: ToolsCase, misfit: _Misfit) -> None:
    """A program's invalid arguments are refused before the provider is called, at the cost of no call."""
    tool, before = RecordedTool(schema=misfit.schema), RecordedTool("before")
    counting = _Counting(await case.hosting(tool.hosted, before.hosted))
    only_call = ExecutionLimits(max_tool_calls=1)
    ended = await evaluated(case, counting, "measure", misfit.arguments, only_call, before="before")
    case.require(
        isinstance(ended.error, InvalidToolArgumentsError),
        expected="InvalidToolArgumentsError, where no further tool call is granted",
        happened=str(ended),
    )
    case.require(
        counting.calls == 1 and not tool.came,
        expected="no call of the provider but the sound one before",
        happened=f"there were {counting.calls} calls, and {len(tool.came)} of the tool",
    )
    message = str(ended.error)
    for part in ("measure", misfit.path, misfit.constraint):
        case.require(part in message, expected=f"{part!r} in the message", happened=f"it is {message!r}")
    _require_no_value(case, ended.error)


@check(
    "TOL-5",
    suite=SuiteName.TOOLS,
    over=_MISFITS,
    hint="A provider need not look at arguments; one that does looks before the call, and quotes none of them.",
)
async def a_provider_that_refuses_arguments_shows_none(case: ToolsCase, misfit: _Misfit) -> None:
    """Called directly with invalid arguments, a provider that refuses has not called the tool and shows no value."""
    tool = RecordedTool(schema=misfit.schema)
    provider = await case.hosting(tool.hosted)
    ended = await called(case, provider, "measure", misfit.arguments)
    if ended.error is None:
        return  # whoever runs programs has validated them
    case.require(isinstance(ended.error, TreelangError), expected="one of treelang's errors", happened=str(ended))
    case.require(not tool.came, expected="a tool that was not called", happened="it was called, and then refused")
    _require_no_value(case, ended.error)


def _require_no_value(case: ToolsCase, error: BaseException | None) -> None:
    shown = f"{error} {error!r} {vars(error) if error is not None else ''}"
    case.require(_CANARY not in shown, expected="an error without the value", happened="the value stands in it")


@check("TOL-5", suite=SuiteName.TOOLS, hint="Keep every keyword of a schema, and change no argument.")
async def arguments_reach_the_tool_if_they_fit_and_only_then(case: ToolsCase) -> None:
    """Whatever the schema and the arguments: those that fit arrive unchanged, and the others not at all."""
    from hypothesis import strategies

    async def judge(drawn: list[tuple[dict[str, Any], Any]]) -> None:
        tools = [
            RecordedTool(f"tool_{number}", schema=closed({"a": schema})) for number, (schema, _) in enumerate(drawn)
        ]
        provider = await case.hosting(*(tool.hosted for tool in tools))
        for tool, (schema, value) in zip(tools, drawn, strict=True):
            with about(f"the argument {shortened(value)} of the schema {shortened(schema)}"):
                await _require_fair(case, provider, tool, value)

    pairs = strategies.tuples(schemas(), values())
    await for_examples(case, strategies.lists(pairs, min_size=6, max_size=12), judge, at_most=8)


async def _require_fair(case: ToolsCase, provider: ToolProvider, tool: RecordedTool, value: Any) -> None:
    fits = Draft202012Validator(tool.hosted.input_schema or {}).is_valid({"a": value})
    ended = await evaluated(case, provider, tool.hosted.name, {"a": value})
    if fits:
        case.require(ended.error is None, expected="a call, since they fit", happened=str(ended))
        case.require(
            len(tool.came) == 1 and is_same_json({"a": value}, tool.came[0]),
            expected="one call with just that",
            happened=f"the tool was called with {shortened(tool.came)}",
        )
    else:
        case.require(
            isinstance(ended.error, InvalidToolArgumentsError) and not tool.came,
            expected="InvalidToolArgumentsError and no call, since they do not fit",
            happened=f"{ended}, and the tool was called {len(tool.came)} times",
        )


# --- TOL-6 ---

_DEFAULTS = {
    "type": "object",
    "properties": {
        "tree": TEXT,
        "unit": {"type": ["string", "null"], "default": "m"},
        "digits": {"type": "integer", "default": 0},
        "place": {"type": "object", "properties": {"country": {"type": "string", "default": "US"}}, "default": {}},
    },
    "required": ["tree"],
    "additionalProperties": False,
}
_GIVEN: Mapping[str, dict[str, Any]] = {
    "left-out": {"tree": "oak"},
    "nested": {"tree": "oak", "place": {}},
    "null": {"tree": "oak", "unit": None},
    "some": {"tree": "oak", "digits": 2},
}
_ANNOTATION = "A default is told to whoever reads the schema. Whether it applies is the tool's own matter."


@check("TOL-6", suite=SuiteName.TOOLS, over=_GIVEN, hint=_ANNOTATION)
async def no_default_is_injected(case: ToolsCase, arguments: dict[str, Any]) -> None:
    """What is left out is left out, at any depth: called by a program, and directly."""
    tool = RecordedTool(schema=_DEFAULTS)
    provider = await case.hosting(tool.hosted)
    for how in ("by a program", "directly"):
        tool.came.clear()
        if how == "directly":
            ended = await called(case, provider, "measure", dict(arguments))
        else:
            ended = await evaluated(case, provider, "measure", arguments)
        case.require(ended.error is None, expected=f"a call {how}", happened=str(ended))
        case.require(
            tool.came == [arguments],
            expected=f"the tool, called {how}, to get {arguments}",
            happened=f"it got {shortened(tool.came)}",
        )


@check("TOL-6", suite=SuiteName.TOOLS, hint=_ANNOTATION)
async def a_definition_tells_its_defaults(case: ToolsCase) -> None:
    """The defaults of a schema stand in the definition."""
    provider = await case.hosting(RecordedTool(schema=_DEFAULTS).hosted)
    definition = (await listed(case, provider))[0]
    properties = definition.complete_schema().get("properties", {})
    for name, value in {"unit": "m", "digits": 0, "place": {}}.items():
        found = properties.get(name, {})
        case.require(
            "default" in found and found["default"] == value,
            expected=f"the default {value!r} of {name!r}",
            happened=f"its schema is {shortened(found)}",
        )
