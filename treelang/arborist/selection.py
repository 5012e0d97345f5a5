"""Which of a provider's tools a model is told about, and may use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from treelang.tools.definition import ToolDefinition
from treelang.tools.provider import ToolProvider


@runtime_checkable
class ToolSelector(Protocol):
    """Chooses the tools for a question. A program that calls any other tool is not accepted."""

    async def select(self, provider: ToolProvider, *, query: str) -> Sequence[ToolDefinition]:
        """The tools to offer, in the order in which the model is to read of them.

        Args:
            provider: Where the tools are.
            query: The question.
        """
        ...


class AllTools:
    """Every tool of the provider, in the provider's order."""

    async def select(self, provider: ToolProvider, *, query: str) -> list[ToolDefinition]:
        """All of them, whatever the question."""
        return await provider.list_tools()


class NamedTools:
    """Always the same tools.

    Args:
        names: Their names, in the order in which the model is to read of them.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def __repr__(self) -> str:
        return f"NamedTools({list(self._names)})"

    async def select(self, provider: ToolProvider, *, query: str) -> list[ToolDefinition]:
        """The named tools.

        Raises:
            ToolNotFoundError: The provider lacks one.
        """
        return [await provider.get_tool_definition(name) for name in self._names]
