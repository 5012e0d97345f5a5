"""A tool provider that tells of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treelang.tools.definition import ToolDefinition
from treelang.tools.provider import ToolOutput, ToolProvider

if TYPE_CHECKING:
    from treelang.observability.observer import Observability


class WatchedToolProvider(ToolProvider):
    """Makes the calls of another provider and tells of each; what comes back, or is raised, passes unchanged.

    Args:
        inner: The provider that makes the calls. It remains its owner's to close.
        observability: Takes the events.
    """

    def __init__(self, inner: ToolProvider, observability: Observability) -> None:
        self._inner = inner
        self._observability = observability

    def __repr__(self) -> str:
        return f"WatchedToolProvider({type(self._inner).__name__})"

    def __getattr__(self, name: str) -> Any:
        # A tool selector may ask its own provider for more than the contract has.
        return getattr(self._inner, name)

    async def list_tools(self) -> list[ToolDefinition]:
        """All tools of the inner provider."""
        with self._observability.operation("tool.listing") as operation:
            definitions = await self._inner.list_tools()
            operation.add(tool_count=len(definitions))
            return definitions

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        """One tool, as the inner provider describes it."""
        with self._observability.operation("tool.lookup", tool_name=name):
            return await self._inner.get_tool_definition(name)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """Have the inner provider call a tool."""
        with self._observability.operation("tool.call", tool_name=name, arguments=arguments) as operation:
            output = await self._inner.call_tool(name, arguments)
            operation.add(result=getattr(output, "content", None))
            return output
