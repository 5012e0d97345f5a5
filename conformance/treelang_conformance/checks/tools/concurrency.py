"""TOL-7: calls that run at the same time do not know of each other."""

from __future__ import annotations

import asyncio
from typing import Any

from treelang import ToolExecutionError, ToolProvider
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._hosted import TEXT, Held, RecordedTool, closed
from treelang_conformance.checks.tools._use import Ended, listed, looked_up, require_output
from treelang_conformance.outcome import type_name
from treelang_conformance.registry import SuiteName, check

_NAMES = ("first", "second", "third", "fourth")
_SCHEMA = closed({"name": TEXT})
_HINT = "Keep what belongs to a call in the call: nothing on the provider, no lock around it, no shared task."


@check("TOL-7", suite=SuiteName.TOOLS, hint=_HINT)
async def calls_of_one_tool_get_their_own_results(case: ToolsCase) -> None:
    """Calls of one tool run at the same time, and each gets its own result, whichever ends first."""
    held = Held()
    provider = await case.hosting(RecordedTool(schema=_SCHEMA, act=held).hosted)
    tasks = await _all_at_work(case, provider, held, dict.fromkeys(_NAMES, "measure"))
    await _require_results_in_reverse(case, held, tasks)


@check("TOL-7", suite=SuiteName.TOOLS, hint=_HINT)
async def calls_of_several_tools_get_their_own_results(case: ToolsCase) -> None:
    """The same for calls of different tools."""
    held = Held()
    tools = [RecordedTool(f"tool_{name}", schema=_SCHEMA, act=held) for name in _NAMES]
    provider = await case.hosting(*(tool.hosted for tool in tools))
    tasks = await _all_at_work(case, provider, held, {name: f"tool_{name}" for name in _NAMES})
    await _require_results_in_reverse(case, held, tasks)


@check("TOL-7", suite=SuiteName.TOOLS, hint=_HINT)
async def a_failure_leaves_its_neighbours_alone(case: ToolsCase) -> None:
    """The calls beside one that fails go on, and get their results."""
    held = Held()

    async def act(arguments: dict[str, Any]) -> Any:
        answer = await held(arguments)
        if arguments["name"] == "second":
            raise ValueError("no such tree")
        return answer

    provider = await case.hosting(RecordedTool(schema=_SCHEMA, act=act).hosted)
    tasks = await _all_at_work(case, provider, held, dict.fromkeys(_NAMES, "measure"))
    held.gate("second").open()
    ended = await _ended(case, tasks.pop("second"))
    case.require(
        isinstance(ended.error, ToolExecutionError),
        expected="ToolExecutionError for the call that fails",
        happened=str(ended),
    )
    await _require_results_in_reverse(case, held, tasks)


@check("TOL-7", suite=SuiteName.TOOLS, hint=_HINT)
async def a_cancellation_leaves_its_neighbours_alone(case: ToolsCase) -> None:
    """The calls beside one that is cancelled go on, and get their results."""
    held = Held()
    provider = await case.hosting(RecordedTool(schema=_SCHEMA, act=held).hosted)
    tasks = await _all_at_work(case, provider, held, dict.fromkeys(_NAMES, "measure"))
    cancelled = tasks.pop("third")
    cancelled.cancel()
    await case.within(asyncio.wait({cancelled}), "the cancelled call to end")
    case.require(cancelled.cancelled(), expected="a cancelled call", happened="it ended in another way")
    await _require_results_in_reverse(case, held, tasks)
    held.gate("third").open()


@check("TOL-7", suite=SuiteName.TOOLS, hint=_HINT)
async def discovery_does_not_wait_for_calls(case: ToolsCase) -> None:
    """While a call runs, tools are listed and looked up, by several tasks at once."""
    held = Held()
    tools = [RecordedTool(schema=_SCHEMA, act=held), RecordedTool("other")]
    provider = await case.hosting(*(tool.hosted for tool in tools))
    tasks = await _all_at_work(case, provider, held, {"first": "measure"})
    listings = await asyncio.gather(*(listed(case, provider) for _ in range(3)))
    case.require(
        all(listing == listings[0] and len(listing) == len(tools) for listing in listings),
        expected="the same listing for each task",
        happened=f"they got {[[definition.name for definition in listing] for listing in listings]}",
    )
    found = await looked_up(case, provider, "other")
    case.require(found.name == "other", expected="the tool 'other'", happened=f"it is {found.name!r}")
    await _require_results_in_reverse(case, held, tasks)


async def _all_at_work(
    case: ToolsCase, provider: ToolProvider, held: Held, calls: dict[str, str]
) -> dict[str, asyncio.Task[Any]]:
    """Calls in tasks of their own, tools by the names of the calls, once all of them wait inside their tools."""
    tasks = {name: asyncio.create_task(provider.call_tool(tool, {"name": name})) for name, tool in calls.items()}
    for name, task in tasks.items():
        reached = asyncio.create_task(held.gate(name).reached())
        first = asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)
        await case.within(first, f"all {len(tasks)} calls to be at work at the same time")
        reached.cancel()
        case.require(
            not task.done(),
            expected=f"the call {name!r} to wait for its tool",
            happened=_told(task) if task.done() else "",
        )
    return tasks


async def _require_results_in_reverse(case: ToolsCase, held: Held, tasks: dict[str, asyncio.Task[Any]]) -> None:
    for name in reversed(tasks):
        held.gate(name).open()
        require_output(case, await _ended(case, tasks[name]), f"the answer to {name}")


async def _ended(case: ToolsCase, task: asyncio.Task[Any]) -> Ended:
    await case.within(asyncio.wait({task}), "the call to end")
    if task.cancelled():
        case.require(False, expected="the call to end by itself", happened="it was cancelled")
    error = task.exception()
    return Ended(error=error) if isinstance(error, Exception) else Ended(task.result())


def _told(task: asyncio.Task[Any]) -> str:
    if task.cancelled():
        return "it was cancelled"
    error = task.exception()
    return "it ended normally" if error is None else f"it raised {type_name(error)}"
