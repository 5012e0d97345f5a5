"""TOL-5, TOL-6: arguments that do not fit reach nobody and are not quoted; what is left out stays left out."""

from __future__ import annotations

from typing import Any

import jsonschema

from treelang import (
    AST,
    ExecutionLimits,
    InvalidToolArgumentsError,
    ToolDefinition,
    ToolOutput,
    ToolProvider,
    TreelangError,
)
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._generated import schemas_with_arguments
from treelang_conformance.checks.tools._hosted import TEXT, RecordedTool
from treelang_conformance.checks.tools._use import Ended, called, evaluated, is_same_json, only_one, program, tool_call
from treelang_conformance.examples import for_examples
from treelang_conformance.hosting import CannotHost, closed
from treelang_conformance.outcome import shortened
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

_CANARY = "canary-argument-7c40"

_SCHEMA = closed(
    {
        "tree": {"type": "string", "maxLength": 9},
        "height": {"type": "integer", "maximum": 200},
        "site": {"type": "object", "properties": {"zone": {"enum": ["a", "b"]}}},
    }
)
_VALID: dict[str, Any] = {"tree": "redwood", "height": 115, "site": {"zone": "a"}}

_INVALID: dict[str, tuple[dict[str, Any], str, str]] = {
    "wrong type": ({**_VALID, "height": _CANARY}, "height", "type"),
    "too long": ({**_VALID, "tree": _CANARY}, "tree", "maxLength"),
    "too high": ({**_VALID, "height": 4217043}, "height", "maximum"),
    "deep inside": ({**_VALID, "site": {"zone": _CANARY}}, "zone", "enum"),
    "one missing": ({"tree": _VALID["tree"], "site": {}}, "", "required"),
    "one too many": ({**_VALID, "other": _CANARY}, "", "additionalProperties"),
}
"""Arguments, the place that breaks a constraint, and the constraint."""

_SECRETS = (_CANARY, "4217043")


class _Counting(ToolProvider):
    """Another provider, and how many calls reach it."""

    def __init__(self, inner: ToolProvider) -> None:
        self._inner = inner
        self.calls = 0

    async def list_tools(self) -> list[ToolDefinition]:
        return await self._inner.list_tools()

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        return await self._inner.get_tool_definition(name)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        self.calls += 1
        return await self._inner.call_tool(name, arguments)


def _require_telling(case: ToolsCase, error: InvalidToolArgumentsError, place: str, constraint: str) -> None:
    for what, word in (("the tool", "measure"), ("the path", place), ("the constraint", constraint)):
        case.require(word in str(error), expected=f"an error that names {what}, {word!r}", happened="it does not")


def _require_silence(case: ToolsCase, ended: Ended) -> None:
    text = f"{ended.error} {ended.error!r} {vars(ended.error) if ended.error else ''}"
    case.require(
        not any(secret in text for secret in _SECRETS),
        expected="an error that does not quote the value",
        happened="the value stands in the error",
    )


@check(
    "TOL-5", suite=SuiteName.TOOLS, over=_INVALID, hint="Keep every constraint in the definition: callers judge by it."
)
async def invalid_arguments_of_a_program_reach_nobody(case: ToolsCase, row: tuple[dict[str, Any], str, str]) -> None:
    """A program's invalid arguments are refused before the provider and the budget; the error tells what is wrong."""
    arguments, place, constraint = row
    tool = RecordedTool(schema=_SCHEMA)
    provider = _Counting(await case.hosting(tool.hosted))
    ended = await evaluated(case, provider, "measure", arguments)
    case.require(
        isinstance(ended.error, InvalidToolArgumentsError) and not provider.calls and not tool.came,
        expected="InvalidToolArgumentsError before the provider or the tool is called",
        happened=f"{ended}; the provider was called {provider.calls} times, the tool {len(tool.came)} times",
    )
    assert isinstance(ended.error, InvalidToolArgumentsError)  # noqa: S101  # told to the type checker
    _require_telling(case, ended.error, place, constraint)
    _require_silence(case, ended)


@check("TOL-5", suite=SuiteName.TOOLS, hint="Keep every constraint in the definition: callers judge by it.")
async def invalid_arguments_use_up_no_budget(case: ToolsCase) -> None:
    """A call with invalid arguments after the last one granted is refused for the arguments, not for the budget."""
    tool = RecordedTool(schema=_SCHEMA)
    provider = await case.hosting(tool.hosted)
    both = {**program(tool_call("measure", _VALID))}
    both["body"] = [
        {
            "type": "conditional",
            "condition": tool_call("measure", _VALID),
            "true_branch": tool_call("measure", _INVALID["too high"][0]),
            "false_branch": {"type": "literal", "value": None},
        }
    ]
    with case.bounded("a program of two calls"):
        try:
            ended = Ended(await AST.eval(AST.parse(both), provider, ExecutionLimits(max_tool_calls=1)))
        except TreelangError as error:
            ended = Ended(error=error)
    case.require(
        isinstance(ended.error, InvalidToolArgumentsError) and len(tool.came) == 1,
        expected="one call of the tool, then InvalidToolArgumentsError",
        happened=f"{ended}; the tool was called {len(tool.came)} times",
    )


@check(
    "TOL-5", suite=SuiteName.TOOLS, over=_INVALID, hint="Name the tool, the path and the keyword, and quote no value."
)
async def a_direct_refusal_is_clean(case: ToolsCase, row: tuple[dict[str, Any], str, str]) -> None:
    """A provider that refuses invalid arguments itself has not called the tool, and does not quote the value."""
    arguments, place, constraint = row
    tool = RecordedTool(schema=_SCHEMA)
    provider = await case.hosting(tool.hosted)
    ended = await called(case, provider, "measure", dict(arguments))
    if ended.error is None:
        return  # it leaves the judgement to its caller, as it may
    case.require(isinstance(ended.error, TreelangError), expected="an error of treelang's", happened=str(ended))
    case.require(not tool.came, expected="the tool not to be called", happened="it was called and then refused")
    _require_silence(case, ended)
    if isinstance(ended.error, InvalidToolArgumentsError):
        _require_telling(case, ended.error, place, constraint)


@check("TOL-5", suite=SuiteName.TOOLS, hint="Validate by the tool's own schema, whole and as it is, or not at all.")
async def exactly_the_arguments_that_fit_reach_the_tool(case: ToolsCase) -> None:
    """Whatever the schema, a program's arguments reach the tool unchanged if they fit it, and else not at all."""
    judged = 0

    async def judge(example: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
        nonlocal judged
        schema, several = example
        oracle = jsonschema.Draft202012Validator(schema)
        tool = RecordedTool(schema=schema)
        try:
            async with case.subject.hosting((tool.hosted,)) as provider:
                for arguments in several:
                    tool.came.clear()
                    await evaluated(case, provider, "measure", arguments)
                    wanted = [arguments] if oracle.is_valid(arguments) else []
                    with about(f"the arguments {shortened(arguments)}"):
                        case.require(
                            is_same_json(wanted, tool.came),
                            expected="a call with these" if wanted else "no call of the tool",
                            happened=f"what reached the tool is {shortened(tool.came)}",
                        )
        except CannotHost:
            return
        judged += 1

    await for_examples(case, schemas_with_arguments(), judge, at_most=10)
    if not judged:
        case.not_applicable("none of the schemas that were made can be hosted")


_RING = {"type": "object", "properties": {"year": {"type": "integer", "default": 1}}}
_OPTIONAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tree": TEXT,
        "height": {"type": "integer", "default": 115},
        "site": {"type": "object", "properties": {"zone": {"type": "string", "default": "north"}}, "default": {}},
        "note": {"type": ["string", "null"], "default": None},
        "unit": {"type": ["string", "null"], "default": "m"},
        "rings": {
            "type": "array",
            "items": {"type": "object", "properties": {"year": {"type": "integer", "default": 1}}},
        },
    },
    "required": ["tree"],
    "additionalProperties": False,
}

_AS_GIVEN = "A default is an annotation: call the tool with what was given, whatever the schema suggests."

_GIVEN: dict[str, dict[str, Any]] = {
    "nothing optional": {"tree": "redwood"},
    "an object without its default": {"tree": "redwood", "site": {}},
    "a null": {"tree": "redwood", "note": None},
    "a null where the default is none": {"tree": "redwood", "unit": None},
    "objects in a list": {"tree": "redwood", "rings": [{}, {"year": 7}]},
    "other than the default": {"tree": "redwood", "height": 3},
    "the default itself": {"tree": "redwood", "height": 115},
}


@check("TOL-6", suite=SuiteName.TOOLS, over=_GIVEN, hint=_AS_GIVEN)
async def no_default_is_injected(case: ToolsCase, given: dict[str, Any]) -> None:
    """The tool gets exactly what was given, directly and by a program, and the caller's arguments gain nothing."""
    tool = RecordedTool(schema=_OPTIONAL)
    provider = await case.hosting(tool.hosted)
    passed = {name: dict(value) if isinstance(value, dict) else value for name, value in given.items()}
    for ended in (await called(case, provider, "measure", passed), await evaluated(case, provider, "measure", given)):
        case.require(ended.error is None, expected="the call to succeed", happened=str(ended))
    case.require(
        is_same_json([given, given], tool.came),
        expected=f"two calls with {given}",
        happened=f"what arrived is {shortened(tool.came)}",
    )
    case.require(passed == given, expected="the caller's arguments to stay as they are", happened=f"they are {passed}")


@check("TOL-6", suite=SuiteName.TOOLS, hint="Keep `default` in the schema, where a model can read it.")
async def defaults_stay_in_the_definition(case: ToolsCase) -> None:
    """The definition says every default that the schema says, and makes no required argument of one."""
    provider = await case.hosting(RecordedTool(schema=_OPTIONAL).hosted)
    definition = await only_one(case, provider)
    schema = definition.complete_schema()
    found = {
        name: one for name, one in schema.get("properties", {}).items() if isinstance(one, dict) and "default" in one
    }
    case.require(
        {name: one["default"] for name, one in found.items()} == {"height": 115, "site": {}, "note": None, "unit": "m"},
        expected="the defaults 115, {}, None and 'm'",
        happened=f"the properties are {shortened(schema.get('properties'))}",
    )
    case.require(
        schema.get("required") == ["tree"],
        expected="only 'tree' to be required",
        happened=f"required is {schema.get('required')}",
    )
