"""A provider written by hand: a table of described tools, as the kit's README shows one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treelang import ToolDefinition, ToolExecutionError, ToolNotFoundError, ToolOutput, ToolProvider
from treelang_conformance.hosting import HostedTool


class DescribedTools(ToolProvider):
    """The tools that it is made of."""

    def __init__(self, tools: Sequence[HostedTool]) -> None:
        self.tools = {tool.name: tool for tool in tools}

    def described(self, tool: HostedTool) -> dict[str, Any]:
        """A tool as a mapping, to be read as a definition."""
        return {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "properties": tool.properties,
        }

    async def list_tools(self) -> list[ToolDefinition]:
        return [ToolDefinition.of(self.described(tool)) for tool in self.tools.values()]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        if name not in self.tools:
            raise ToolNotFoundError(f"there is no tool {name!r}")
        try:
            return ToolOutput(content=await self.tools[name].call(arguments))
        except ToolExecutionError:
            raise
        except Exception as error:
            raise ToolExecutionError(f"the tool {name!r} failed with {type(error).__name__}") from error
