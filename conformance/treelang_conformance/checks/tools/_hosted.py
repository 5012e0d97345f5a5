"""Tools for the checks to host: they remember what arrived, and do what the check wants done."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from treelang_conformance.hosting import HostedTool, closed
from treelang_conformance.provider.script import Gate

Act: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any]]

TEXT: Mapping[str, Any] = {"type": "string"}
INTEGER: Mapping[str, Any] = {"type": "integer"}
ANYTHING: Mapping[str, Any] = {}


class RecordedTool:
    """A tool that remembers its calls.

    Attributes:
        came: The arguments of each call, as they arrived.
        hosted: What a factory is given.
    """

    def __init__(
        self,
        name: str = "measure",
        *,
        schema: Mapping[str, Any] | None = None,
        properties: Mapping[str, Any] | None = None,
        description: str | None = None,
        act: Act | None = None,
    ) -> None:
        self.came: list[Any] = []
        self._act = act or _answer_nothing_much
        if schema is None and properties is None:
            schema = closed({})
        self.hosted = HostedTool(name, description, schema, properties or {}, self._call)

    async def _call(self, arguments: dict[str, Any]) -> Any:
        self.came.append(copy.deepcopy(arguments))
        return await self._act(arguments)


async def _answer_nothing_much(_: dict[str, Any]) -> Any:
    return "done"


def giving(value: Any) -> Act:
    """An act that gives a value, a new copy each time."""

    async def give(_: dict[str, Any]) -> Any:
        return copy.deepcopy(value)

    return give


def raising(error: Exception) -> Act:
    """An act that fails."""

    async def fail(_: dict[str, Any]) -> Any:
        raise error

    return fail


class Held:
    """An act that waits at a gate, one for each value of the argument `name`, and then gives that value back.

    Attributes:
        loop: The event loop in which the last call arrived; a tool that runs in the check's own can be told of a
            cancellation.
        cancelled: The names of the calls that were.
    """

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.cancelled: list[str] = []
        self.told = Gate("the tool's end by cancellation")
        self._gates: dict[str, Gate] = {}

    def gate(self, name: str) -> Gate:
        """Where the call of that name waits."""
        return self._gates.setdefault(name, Gate(f"the call {name!r}"))

    async def __call__(self, arguments: dict[str, Any]) -> Any:
        name = str(arguments.get("name"))
        self.loop = asyncio.get_running_loop()
        try:
            await self.gate(name).pass_through()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            self.told.open()
            raise
        return f"the answer to {name}"
