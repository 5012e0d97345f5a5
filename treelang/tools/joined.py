"""Several providers as one."""

from __future__ import annotations

import asyncio
from typing import Any

from treelang.errors import ProviderResponseError, ToolNotFoundError
from treelang.tools.definition import ToolDefinition
from treelang.tools.provider import ToolOutput, ToolProvider


class JoinedToolProvider(ToolProvider):
    """The tools of several providers, in their order. No name may come from two of them.

    A listing asks every provider. Look-ups and calls go by the last listing, and to the provider that has the tool.

    Args:
        *providers: The providers.
    """

    def __init__(self, *providers: ToolProvider) -> None:
        self._providers = providers
        self._owners: dict[str, ToolProvider] | None = None
        self._listing = asyncio.Lock()

    async def list_tools(self) -> list[ToolDefinition]:
        """All tools of all providers.

        Raises:
            ProviderResponseError: Two tools have the same name, or a listing failed.
        """
        definitions: list[ToolDefinition] = []
        owners: dict[str, int] = {}
        for number, provider in enumerate(self._providers, 1):
            for metadata in await provider.list_tools():
                definition = ToolDefinition.of(metadata)
                if (other := owners.get(definition.name)) is not None:
                    raise ProviderResponseError(
                        f"the tool {definition.name!r} is offered by provider {other} ({self._kind(other)}) and by "
                        f"provider {number} ({self._kind(number)}); rename or leave out one of them"
                    )
                owners[definition.name] = number
                definitions.append(definition)
        self._owners = {name: self._providers[number - 1] for name, number in owners.items()}
        return definitions

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        """One tool, from the provider that has it.

        Raises:
            ToolNotFoundError: No provider has one of that name.
            ProviderResponseError: As `list_tools`.
        """
        return ToolDefinition.of(await (await self._owner(name)).get_tool_definition(name))

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """Call a tool of the provider that has it.

        Raises:
            ToolNotFoundError: No provider has one of that name.
            ToolExecutionError: The tool failed.
        """
        return await (await self._owner(name)).call_tool(name, arguments)

    async def _owner(self, name: str) -> ToolProvider:
        if self._owners is None or name not in self._owners:
            async with self._listing:
                if self._owners is None or name not in self._owners:
                    await self.list_tools()
        owner = (self._owners or {}).get(name)
        if owner is None:
            raise ToolNotFoundError(f"none of the {len(self._providers)} providers has a tool {name!r}")
        return owner

    def _kind(self, number: int) -> str:
        return type(self._providers[number - 1]).__name__
