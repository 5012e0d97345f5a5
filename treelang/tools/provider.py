"""What a tool provider is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from pydantic import BaseModel, ConfigDict

from treelang.errors import ToolNotFoundError
from treelang.tools.definition import ToolDefinition


class ToolOutput(BaseModel):
    """What a call of a tool gave.

    Attributes:
        content: A JSON value.
    """

    model_config = ConfigDict(frozen=True)

    content: Any


class ToolProvider(ABC):
    """A source of tools: what there is, and how it is called (TOL-1 to TOL-7).

    Whoever runs a program validates the arguments of every call before it reaches a provider and is counted (TOL-5),
    so a provider of one's own need not. Those of treelang do it too wherever they hold the schema, for the sake of
    direct calls; that takes a microsecond.
    """

    @abstractmethod
    async def list_tools(self) -> list[ToolDefinition]:
        """All tools, each under a name of its own.

        Raises:
            ProviderResponseError: There is no valid listing to be had.
        """

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        """One tool as it stands in the listing.

        Raises:
            ToolNotFoundError: There is none of that name.
            ProviderResponseError: There is no valid listing to be had.
        """
        for metadata in await self.list_tools():
            definition = ToolDefinition.of(metadata)
            if definition.name == name:
                return definition
        raise ToolNotFoundError(f"there is no tool {name!r}")

    @abstractmethod
    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """Call a tool. Being cancelled, it ends in `CancelledError`, unchanged.

        Args:
            name: The tool's name.
            arguments: JSON values by name. No default is added (TOL-6).

        Raises:
            ToolNotFoundError: There is none of that name.
            ToolExecutionError: The tool failed; its own exception is `__cause__` (TOL-4).
        """
