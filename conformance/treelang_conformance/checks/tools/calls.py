"""TOL-4: what goes into a call and what comes out of it, whole, failed or cancelled."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from typing import Any

from treelang import ToolExecutionError, ToolProvider
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._hosted import ANYTHING, TEXT, Held, RecordedTool, closed, giving, raising
from treelang_conformance.checks.tools._use import called, is_same_json, require_content
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.registry import SuiteName, check

_RESULTS: Mapping[str, Any] = {
    "text": "115.9 m",
    "text-beyond-ascii": "\u6728 \U0001f332 \u00e9\n\ttab",
    "a-whole-number": 7,
    "a-large-number": 2**53 - 1,
    "a-fraction": -0.25,
    "true": True,
    "false": False,
    "null": None,
    "a-list": ["oak", 1, None, [True]],
    "an-empty-list": [],
    "an-object": {"tree": "oak", "heights": [40.5, 41], "place": {"city": None}},
    "an-empty-object": {},
    "an-object-with-a-result": {"result": 5},
    "a-list-of-one-text": ["oak"],
}


@check("TOL-4", suite=SuiteName.TOOLS, over=_RESULTS, hint="Give back what the tool gave, whatever its JSON type.")
async def a_call_gives_what_the_tool_gave(case: ToolsCase, result: Any) -> None:
    """A call gives a `ToolOutput` whose content is the tool's own value."""
    provider = await case.hosting(RecordedTool(act=giving(result)).hosted)
    await require_content(case, provider, "measure", {}, result)


_ARGUMENTS: Mapping[str, Any] = {
    "text": "redwood",
    "empty-text": "",
    "text-of-a-number": "7",
    "text-beyond-ascii": "\u6728 \U0001f332 \u00e9\n",
    "a-whole-number": 1,
    "a-large-number": 2**53 - 1,
    "a-fraction": 0.1,
    "a-boolean": True,
    "null": None,
    "a-list": [1, "1", [None, False], {}],
    "an-object": {"b": 1, "a": {"\u6728": []}},
}


@check(
    "TOL-4", suite=SuiteName.TOOLS, over=_ARGUMENTS, hint="Pass arguments on as they are, and leave the caller's alone."
)
async def arguments_arrive_as_they_were_given(case: ToolsCase, value: Any) -> None:
    """The tool gets the arguments of the call, and the caller's own mapping is not changed."""
    tool = RecordedTool(schema=closed({"tree": ANYTHING}))
    provider = await case.hosting(tool.hosted)
    arguments = {"tree": copy.deepcopy(value)}
    ended = await called(case, provider, "measure", arguments)
    case.require(ended.error is None, expected="a call", happened=str(ended))
    case.require(
        len(tool.came) == 1 and is_same_json({"tree": value}, tool.came[0]),
        expected=f"one call with {{'tree': {shortened(value)}}}",
        happened=f"the tool was called with {shortened(tool.came)}",
    )
    case.require(
        arguments == {"tree": value}, expected="the caller's arguments unchanged", happened=f"they are {arguments}"
    )


class _OwnError(Exception):
    """A failure of a kind that nobody else knows."""


_FAILURES: Mapping[str, Exception] = {
    "value-error": ValueError("no such tree"),
    "key-error": KeyError("redwood"),
    "timeout-error": TimeoutError("the forester does not answer"),
    "connection-error": ConnectionResetError("hung up"),
    "runtime-error": RuntimeError("broken"),
    "own-error": _OwnError("a failure of its own"),
    "without-text": AssertionError(),
    "group": ExceptionGroup("several", [ValueError("one"), KeyError("two")]),
}


@check(
    "TOL-4",
    suite=SuiteName.TOOLS,
    over=_FAILURES,
    hint="`raise ToolExecutionError(f'the tool {name!r} failed') from error`, whatever the tool has raised.",
)
async def a_failure_of_the_tool_is_raised_with_its_cause(case: ToolsCase, failure: Exception) -> None:
    """What a tool raises is raised as `ToolExecutionError`, with the failure as its cause; the next call is served."""
    tool, sound = RecordedTool("fell", act=raising(failure)), RecordedTool("measure", act=giving("115.9 m"))
    provider = await case.hosting(tool.hosted, sound.hosted)
    ended = await called(case, provider, "fell", {})
    error = ended.error
    case.require(isinstance(error, ToolExecutionError), expected="ToolExecutionError", happened=str(ended))
    assert error is not None  # noqa: S101  # told to the type checker
    case.require(
        isinstance(error.__cause__, Exception),
        expected="the failure as its `__cause__`",
        happened=f"the cause is {error.__cause__!r}",
    )
    case.require(len(tool.came) == 1, expected="one call of the tool", happened=f"there were {len(tool.came)}")
    await require_content(case, provider, "measure", {}, "115.9 m")


_HELD = closed({"name": TEXT})
_UNTRANSLATED = "Catch Exception and not BaseException, and let CancelledError pass as it is."


@check("TOL-4", suite=SuiteName.TOOLS, hint=_UNTRANSLATED)
async def a_cancellation_passes_unchanged(case: ToolsCase) -> None:
    """A call that is cancelled ends in `CancelledError`, with the message, and its task counts as cancelled."""
    held = Held()
    provider = await case.hosting(RecordedTool(schema=_HELD, act=held).hosted, RecordedTool("other").hosted)
    task = await _waiting(case, provider, held)
    task.cancel("the user has left")
    error = await _ended(case, task)
    case.require(
        isinstance(error, asyncio.CancelledError) and task.cancelled(),
        expected="CancelledError, and a task that counts as cancelled",
        happened="the call ended normally" if error is None else f"the call raised {type_name(error)}",
    )
    case.require(
        error is not None and error.args == ("the user has left",),
        expected="the message of the cancellation",
        happened=f"its arguments are {error.args if error is not None else ()}",
    )
    held.gate("first").open()
    await require_content(case, provider, "other", {}, "done")


@check("TOL-4", suite=SuiteName.TOOLS, hint="A deadline of the caller's is a cancellation: let it pass.")
async def a_deadline_of_the_callers_is_no_failure_of_the_tool(case: ToolsCase) -> None:
    """Under `asyncio.timeout` the caller sees the plain `TimeoutError`."""
    held = Held()
    provider = await case.hosting(RecordedTool(schema=_HELD, act=held).hosted, RecordedTool("other").hosted)
    deadline = asyncio.timeout(None)

    async def call() -> Any:
        async with deadline:
            return await provider.call_tool("measure", {"name": "first"})

    task = asyncio.create_task(call())
    await _until_reached(case, held, task)
    deadline.reschedule(asyncio.get_running_loop().time())
    error = await _ended(case, task)
    case.require(
        type(error) is TimeoutError,
        expected="the plain TimeoutError",
        happened="the call ended normally" if error is None else f"the call raised {type_name(error)}",
    )
    held.gate("first").open()
    await require_content(case, provider, "other", {}, "done")


async def _waiting(case: ToolsCase, provider: ToolProvider, held: Held) -> asyncio.Task[Any]:
    """A call in a task of its own, once it waits inside the tool."""
    task = asyncio.create_task(provider.call_tool("measure", {"name": "first"}))
    await _until_reached(case, held, task)
    return task


async def _until_reached(case: ToolsCase, held: Held, task: asyncio.Task[Any]) -> None:
    reached = asyncio.create_task(held.gate("first").reached())
    first = asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)
    await case.within(first, "the tool to be called")
    reached.cancel()
    if task.done():
        task.result()  # what it raised is not what this is about, and it says where
    case.require(not task.done(), expected="the call to wait for the tool", happened="it has ended")


async def _ended(case: ToolsCase, task: asyncio.Task[Any]) -> BaseException | None:
    await case.within(asyncio.wait({task}), "the call to end")
    try:
        task.result()
    except BaseException as error:  # CancelledError is what is looked for
        return error
    return None
