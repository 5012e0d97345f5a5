"""A provider of functions, for tests that look at what reaches it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from treelang.ast import AST
from treelang.errors import ToolNotFoundError
from treelang.runtime.limits import ExecutionLimits
from treelang.tools.provider import ToolOutput, ToolProvider


class Functions(ToolProvider):
    """Functions as they are, plain or async: their properties are their parameters, and anything is allowed."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self.functions = functions
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.lookups: list[str] = []

    def definition(self, name: str) -> dict[str, Any]:
        return {"name": name, "properties": {key: {} for key in inspect.signature(self.functions[name]).parameters}}

    async def list_tools(self) -> list[Any]:
        return [self.definition(name) for name in self.functions]

    async def get_tool_definition(self, name: str) -> Any:
        self.lookups.append(name)
        if name not in self.functions:
            raise ToolNotFoundError(f"there is no tool {name!r}")
        return self.definition(name)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        self.calls.append((name, arguments))
        result = self.functions[name](**arguments)
        return ToolOutput(content=await result if inspect.isawaitable(result) else result)


def run(program: dict[str, Any], provider: ToolProvider | None = None, **limits: Any) -> Any:
    """The result of a program, in an event loop of its own."""
    return asyncio.run(evaluate(program, provider, **limits))


async def evaluate(program: dict[str, Any], provider: ToolProvider | None = None, **limits: Any) -> Any:
    return await AST.eval(AST.parse(program), provider or Functions(), limits=ExecutionLimits(**limits))


class Visits:
    """Tools that wait until they are let go, and record who came, who was there at once and how each one left."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.arrived: list[Any] = []
        self.left: list[Any] = []
        self.present = 0
        self.most = 0
        self._changed = asyncio.Condition()

    async def visit(self, name: Any) -> Any:
        """Wait to be let go."""
        self.arrived.append(name)
        self.present += 1
        self.most = max(self.most, self.present)
        async with self._changed:
            self._changed.notify_all()
        try:
            await self.let_go.wait()
        finally:
            await asyncio.sleep(0)  # what ends takes its time to end, and is waited for
            self.present -= 1
            self.left.append(name)
        return name

    async def expect(self, count: int) -> None:
        """Wait until so many have arrived."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.arrived) >= count)
