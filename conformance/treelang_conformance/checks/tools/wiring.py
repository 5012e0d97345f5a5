"""The check of the set-up itself: it runs first, so that a miswired subject gets one message and not sixty."""

from __future__ import annotations

from typing import Any

from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._use import awaited, listed
from treelang_conformance.clauses import WIRING
from treelang_conformance.hosting import simple_tool
from treelang_conformance.registry import SuiteName, check


@check(
    WIRING,
    suite=SuiteName.TOOLS,
    hint="Make a provider that offers exactly the tools of the factory's argument, and calls `await tool.call(...)`.",
)
async def the_factory_makes_a_provider_of_the_tools(case: ToolsCase) -> None:
    """The factory makes a provider that lists the one tool it was given, and a call reaches that tool."""
    came: list[dict[str, Any]] = []

    async def measure(arguments: dict[str, Any]) -> str:
        came.append(arguments)
        return "115.9 m"

    provider = await case.hosting(simple_tool(measure))
    names = [definition.name for definition in await listed(case, provider)]
    case.require(names == ["measure"], expected="a listing of the tool 'measure'", happened=f"it lists {names}")
    with case.bounded("a call"):
        await awaited(case, "call_tool()", provider.call_tool("measure", {"tree": "redwood"}))
    case.require(
        came == [{"tree": "redwood"}],
        expected="one call of the tool with {'tree': 'redwood'}",
        happened=f"the tool was called with {came}",
    )
