"""TOL-4, TOL-7: what a call brings back, how failures and cancellation pass, and calls beside each other."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

from treelang import (
    InvalidToolArgumentsError,
    ModelRateLimitError,
    ToolExecutionError,
    ToolNotFoundError,
    ToolOutput,
    ToolProvider,
)
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._hosted import ANYTHING, INTEGER, TEXT, Held, RecordedTool, giving, raising
from treelang_conformance.checks.tools._use import (
    Ended,
    called,
    is_same_json,
    listed,
    looked_up,
    require_content,
    require_output,
)
from treelang_conformance.hosting import closed
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

# No text that reads like JSON: a protocol of texts cannot tell '[1]' from a list.
_RESULTS: dict[str, Any] = {
    "a text": "A redwood, 115.9 m.",
    "an empty text": "",
    "spaces around": "  two\nlines \n",
    "unicode": "木 \U0001f332 e\u0301 \u2028",
    "a number": 115.5,
    "zero": 0,
    "an integer beyond a double": 2**53 + 1,
    "true": True,
    "false": False,
    "nothing": None,
    "an empty list": [],
    "a list": [1, "two", None, [True, 2.5]],
    "a list of one": ["one"],
    "an empty object": {},
    "an object": {"tree": {"name": "redwood", "rings": [1, 2]}, "felled": False, "owner": None},
    "an object of a result": {"result": 3},
    "an object of an error": {"error": "a measuring error of 0.1 m"},
    "an object of a content": {"content": [1, 2]},
}


@check("TOL-4", suite=SuiteName.TOOLS, over=_RESULTS, hint="Return ToolOutput(content=...) with the value itself.")
async def a_call_gives_what_the_tool_gave(case: ToolsCase, result: Any) -> None:
    """A call returns a `ToolOutput` whose content is the JSON value that the tool gave."""
    provider = await case.hosting(RecordedTool(act=giving(result)).hosted)
    await require_content(case, provider, "measure", {}, result)


_ARGUMENTS: dict[str, Any] = {
    "text": {"schema": TEXT, "value": "a\n\u2028木 \U0001f332 '\"\\"},
    "text like a number": {"schema": TEXT, "value": "115"},
    "empty text": {"schema": TEXT, "value": ""},
    "integer": {"schema": INTEGER, "value": 1},
    "big integer": {"schema": INTEGER, "value": 2**53 + 1},
    "fraction": {"schema": {"type": "number"}, "value": 0.1},
    "whole fraction": {"schema": {"type": "number"}, "value": 1.0},
    "boolean": {"schema": {"type": "boolean"}, "value": True},
    "null": {"schema": {"type": ["string", "null"]}, "value": None},
    "list": {"schema": {"type": "array"}, "value": [1, [], {"a": None}, "x", False]},
    "object": {"schema": {"type": "object"}, "value": {"b": {"c": [1.5, None]}, "a": True, "": 0, "n": None}},
    "anything": {"schema": ANYTHING, "value": [{"deep": [[1]]}]},
}


@check(
    "TOL-4", suite=SuiteName.TOOLS, over=_ARGUMENTS, hint="Hand the arguments on as they are, in a copy if you must."
)
async def arguments_arrive_unchanged(case: ToolsCase, row: dict[str, Any]) -> None:
    """The tool is called once, with exactly the arguments that were given, and these are not changed."""
    tool = RecordedTool(schema=closed({"name": row["schema"], "more": INTEGER}))
    provider = await case.hosting(tool.hosted)
    given = {"name": row["value"], "more": 7}
    before = copy.deepcopy(given)
    await require_content(case, provider, "measure", given, "done")
    case.require(
        len(tool.came) == 1 and is_same_json(before, tool.came[0]),
        expected=f"one call with {before}",
        happened=f"what arrived is {shortened(tool.came)}",
    )
    case.require(given == before, expected="the caller's arguments to stay as they are", happened=f"they are {given}")


@check("TOL-4", suite=SuiteName.TOOLS, hint="Look the tool up by the exact name, each time.")
async def a_call_reaches_the_tool_of_that_name(case: ToolsCase) -> None:
    """Of several tools the one that is named is called, and no other."""
    tools = [RecordedTool(name, act=giving(f"by {name}")) for name in ("measure", "Measure", "measure-2", "count")]
    provider = await case.hosting(*(tool.hosted for tool in tools))
    for number, tool in enumerate(tools, 1):
        await require_content(case, provider, tool.hosted.name, {}, f"by {tool.hosted.name}")
        reached = sum(len(other.came) for other in tools)
        case.require(reached == number, expected="one tool a call", happened=f"{reached} calls for {number}")


class _OwnError(Exception):
    """What only this tool raises."""


_FAILURES: dict[str, Exception] = {
    "ValueError": ValueError("no such tree"),
    "KeyError": KeyError("tree"),
    "TimeoutError": TimeoutError("too slow"),
    "ConnectionError": ConnectionError("gone"),
    "ToolNotFoundError": ToolNotFoundError("a tool that this tool looked for"),
    "ModelRateLimitError": ModelRateLimitError("a model that this tool asked"),
    "a type of its own": _OwnError("the saw is blunt"),
    "without words": RuntimeError(),
}

_TRANSLATE = "Wrap the call of the tool: `except Exception as error: raise ToolExecutionError(...) from error`."


@check("TOL-4", suite=SuiteName.TOOLS, over=_FAILURES, hint=_TRANSLATE)
async def a_failure_is_raised_with_its_cause(case: ToolsCase, failure: Exception) -> None:
    """A tool that fails makes the call raise `ToolExecutionError` with a cause; the tool was called once."""
    tool = RecordedTool(act=raising(failure))
    provider = await case.hosting(tool.hosted)
    ended = await called(case, provider, "measure", {})
    _require_failure(case, ended)
    case.require(len(tool.came) == 1, expected="one call of the tool", happened=f"it was called {len(tool.came)} times")


def _require_failure(case: ToolsCase, ended: Ended) -> None:
    error = ended.error
    case.require(
        isinstance(error, ToolExecutionError) and not isinstance(error, InvalidToolArgumentsError),
        expected="ToolExecutionError, and not the kind for invalid arguments",
        happened=str(ended),
    )
    assert error is not None  # noqa: S101  # told to the type checker
    case.require(
        isinstance(error.__cause__, Exception), expected="the failure as its __cause__", happened="it has no cause"
    )


@check("TOL-4", suite=SuiteName.TOOLS, hint="A failure is one call's: keep nothing of it.")
async def the_next_call_works_after_a_failure(case: ToolsCase) -> None:
    """After a call that failed, the same tool and its neighbour can be called, and fail again where they do."""

    async def divide(arguments: dict[str, Any]) -> Any:
        return 12 // arguments["by"]

    tools = (RecordedTool("divide", schema=closed({"by": INTEGER}), act=divide), RecordedTool("count", act=giving(3)))
    provider = await case.hosting(*(tool.hosted for tool in tools))
    for _ in range(2):
        _require_failure(case, await called(case, provider, "divide", {"by": 0}))
        await require_content(case, provider, "divide", {"by": 4}, 3)
        await require_content(case, provider, "count", {}, 3)


_LOOK_SECONDS = 0.005

_MESSAGE = "the caller has gone"
_UNCHANGED = "`except Exception` lets CancelledError pass; a bare except or `except BaseException` must raise it again."


async def _held(case: ToolsCase) -> tuple[ToolProvider, Held]:
    held = Held()
    schema = closed({"name": TEXT})
    tools = (RecordedTool("hold", schema=schema, act=held), RecordedTool("wait", schema=schema, act=held))
    provider = await case.hosting(*(tool.hosted for tool in tools))
    await listed(case, provider)
    return provider, held


async def _calling(
    case: ToolsCase, provider: ToolProvider, held: Held, name: str, tool: str = "hold"
) -> asyncio.Task[ToolOutput]:
    task = asyncio.create_task(provider.call_tool(tool, {"name": name}))
    await case.within(held.gate(name).reached(), "the call to reach the tool")
    return task


async def _ended(case: ToolsCase, task: asyncio.Task[Any], what: str) -> BaseException | None:
    with case.bounded(what):
        await asyncio.wait({task})
    return asyncio.CancelledError() if task.cancelled() else task.exception()


async def _require_answer(case: ToolsCase, task: asyncio.Task[Any], name: str) -> None:
    error = await _ended(case, task, "the call")
    with about(f"the call {name!r}"):
        case.require(error is None, expected="a result", happened=f"it raised {type_name(error)}" if error else "")
        require_output(case, Ended(task.result()), f"the answer to {name}")


@check("TOL-4", suite=SuiteName.TOOLS, hint=_UNCHANGED)
async def a_cancelled_call_ends_in_cancelled_error(case: ToolsCase) -> None:
    """A cancelled call ends in the canceller's `CancelledError`, the tool is told of it, and nothing stays behind."""
    provider, held = await _held(case)
    task = await _calling(case, provider, held, "first")
    task.cancel(_MESSAGE)
    error: BaseException | None = None
    with case.bounded("the cancelled call"):
        try:
            await task
        except (Exception, asyncio.CancelledError) as raised:
            error = raised
    case.require(
        type(error) is asyncio.CancelledError and task.cancelled(),
        expected="asyncio.CancelledError, and a task that counts as cancelled",
        happened=f"it raised {type_name(error)}" if error is not None else "it ended normally",
    )
    case.require(
        error is not None and error.args == (_MESSAGE,),
        expected="the CancelledError to be passed on as it is",
        happened="the canceller's message is lost",
    )
    if held.loop is asyncio.get_running_loop():  # else it may run where nobody can reach it
        await case.within(held.told.pass_through(), "the tool to be cancelled with its call")
    after = await _calling(case, provider, held, "second")
    held.gate("second").open()
    await _require_answer(case, after, "second")
    await case.close()
    left = (await case.leftovers()).tasks
    case.require(not left, expected="no task to be left behind", happened="; ".join(left))


@check("TOL-4", suite=SuiteName.TOOLS, hint="A deadline arrives as CancelledError; translating it takes it away.")
async def the_caller_sees_its_own_deadline(case: ToolsCase) -> None:
    """When `asyncio.timeout` expires during a call, the caller sees the plain `TimeoutError`."""
    provider, held = await _held(case)
    deadlines: list[asyncio.Timeout] = []

    async def under_deadline() -> None:
        async with asyncio.timeout(None) as deadline:
            deadlines.append(deadline)
            await provider.call_tool("hold", {"name": "first"})

    task = asyncio.create_task(under_deadline())
    await case.within(held.gate("first").reached(), "the call to reach the tool")
    deadlines[0].reschedule(asyncio.get_running_loop().time())
    error = await _ended(case, task, "the call under a deadline")
    case.require(
        type(error) is TimeoutError,
        expected="the plain TimeoutError",
        happened=f"the caller sees {type_name(error)}" if error else "the call ended normally",
    )


_INDEPENDENT = "Keep what belongs to a call in local variables, and hold no lock while a tool works."


@check("TOL-7", suite=SuiteName.TOOLS, hint=_INDEPENDENT)
async def overlapping_calls_get_their_own_results(case: ToolsCase) -> None:
    """Calls of one tool and of two, all begun before any ends and ended in reverse, each get their own result."""
    provider, held = await _held(case)
    names = [f"call {number}" for number in range(8)]
    tasks = {}
    for number, name in enumerate(names):
        tasks[name] = await _calling(case, provider, held, name, ("hold", "wait")[number % 2])
    for name in reversed(names):
        held.gate(name).open()
        await _require_answer(case, tasks[name], name)


@check("TOL-7", suite=SuiteName.TOOLS, hint=_INDEPENDENT)
async def calls_that_begin_at_once_get_their_own_results(case: ToolsCase) -> None:
    """Calls that begin in the same turn of the event loop each reach their tool, and get their own result."""
    provider, held = await _held(case)
    names = [f"call {number}" for number in range(6)]
    tasks = {name: asyncio.create_task(provider.call_tool("hold", {"name": name})) for name in names}
    for name in names:
        held.gate(name).open()
    for name, task in tasks.items():
        await _require_answer(case, task, name)


@check("TOL-7", suite=SuiteName.TOOLS, hint=_INDEPENDENT)
async def equal_calls_at_once_are_calls_of_their_own(case: ToolsCase) -> None:
    """Two calls with the same arguments at the same time both reach the tool, begun together or one by one."""
    gate = Held()
    tool = RecordedTool("hold", schema=closed({"name": TEXT}), act=gate)
    provider = await case.hosting(tool.hosted)
    first = await _calling(case, provider, gate, "same")
    second = asyncio.create_task(provider.call_tool("hold", {"name": "same"}))
    await case.within(_until(lambda: len(tool.came) == 2), "the second call to reach the tool beside the first")
    gate.gate("same").open()
    for task in (first, second):
        await _require_answer(case, task, "same")
    with case.bounded("two equal calls"):
        await asyncio.gather(*(provider.call_tool("hold", {"name": "same"}) for _ in range(2)))
    case.require(len(tool.came) == 4, expected="four calls of the tool", happened=f"there were {len(tool.came)}")


async def _until(holds: Callable[[], bool]) -> None:
    """Wait for something that another event loop may bring about."""
    while not holds():  # noqa: ASYNC110  # an event of this loop is not the other's to set
        await asyncio.sleep(_LOOK_SECONDS)


@check("TOL-7", suite=SuiteName.TOOLS, hint=_INDEPENDENT)
async def a_cancelled_call_leaves_its_neighbours_alone(case: ToolsCase) -> None:
    """While one call is cancelled, the calls beside it go on."""
    provider, held = await _held(case)
    names = ("one", "two", "three")
    tasks = {name: await _calling(case, provider, held, name) for name in names}
    tasks["two"].cancel()
    await _ended(case, tasks["two"], "the cancelled call")
    for name in ("three", "one"):
        held.gate(name).open()
        await _require_answer(case, tasks[name], name)


@check("TOL-7", suite=SuiteName.TOOLS, hint=_INDEPENDENT)
async def a_failing_call_leaves_its_neighbours_alone(case: ToolsCase) -> None:
    """While one call fails, the calls beside it go on."""
    held = Held()

    async def act(arguments: dict[str, Any]) -> Any:
        answer = await held(arguments)
        if arguments["name"] == "two":
            raise ValueError("no")
        return answer

    tools = (
        RecordedTool("hold", schema=closed({"name": TEXT}), act=act),
        RecordedTool("fail", act=raising(ValueError("no"))),
    )
    provider = await case.hosting(*(tool.hosted for tool in tools))
    tasks = {name: await _calling(case, provider, held, name) for name in ("one", "two", "three")}
    other = (await called(case, provider, "fail", {})).error
    held.gate("two").open()
    error = await _ended(case, tasks.pop("two"), "the call that fails")
    for failed in (other, error):
        case.require(
            isinstance(failed, Exception),
            expected="an error for the call that fails",
            happened=f"it raised {type_name(failed)}" if failed else "it ended normally",
        )
    for name, task in tasks.items():
        held.gate(name).open()
        await _require_answer(case, task, name)


@check("TOL-7", suite=SuiteName.TOOLS, hint=_INDEPENDENT)
async def listings_do_not_wait_for_calls(case: ToolsCase) -> None:
    """While a call is held, two listings at once and a look-up are answered."""
    provider, held = await _held(case)
    task = await _calling(case, provider, held, "one")
    with case.bounded("two listings and a look-up beside a call"):
        first, second, found = await asyncio.gather(
            listed(case, provider), listed(case, provider), looked_up(case, provider, "hold")
        )
    case.require(
        len(first) == len(second) == 2 and found is not None,
        expected="two tools in each listing",
        happened=f"there are {len(first)} and {len(second)}",
    )
    held.gate("one").open()
    await _require_answer(case, task, "one")
