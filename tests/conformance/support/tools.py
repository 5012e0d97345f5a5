"""A provider of tools written by hand: what a conformant one needs at the least."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from treelang import ToolDefinition, ToolExecutionError, ToolNotFoundError, ToolOutput, ToolProvider
from treelang_conformance.hosting import HostedTool


class PlainToolProvider(ToolProvider):
    """Tools in a dictionary."""

    def __init__(self, tools: Sequence[HostedTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}

    def metadata(self, tool: HostedTool) -> Any:
        """What the listing says of a tool."""
        return {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "properties": tool.properties,
        }

    async def list_tools(self) -> list[ToolDefinition]:
        return [ToolDefinition.of(self.metadata(tool)) for tool in self.tools.values()]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        if name not in self.tools:
            raise ToolNotFoundError(f"there is no tool {name!r}")
        try:
            return ToolOutput(content=await self.tools[name].call(dict(arguments)))
        except Exception as error:
            raise ToolExecutionError(f"the tool {name!r} failed with {type(error).__name__}") from error


class MappingToolProvider(PlainToolProvider):
    """Its listing is of plain mappings, which whoever asks normalises."""

    async def list_tools(self) -> list[Any]:  # the contract's definitions, as mappings that say the same
        return [self.metadata(tool) for tool in self.tools.values()]


@contextlib.asynccontextmanager
async def opened(tools: Sequence[HostedTool]) -> AsyncIterator[ToolProvider]:
    """A provider for as long as a block lasts."""
    yield PlainToolProvider(tools)
