"""An arborist that brings its own model transport."""

from __future__ import annotations

from typing import Self

from treelang.arborist.arborist import Arborist
from treelang.arborist.config import ArboristConfig
from treelang.arborist.memory import Memory
from treelang.arborist.selection import ToolSelector
from treelang.negotiation import ModelCapabilityNegotiator
from treelang.observability import Observability
from treelang.runtime.limits import ExecutionLimits
from treelang.tools.provider import ToolProvider
from treelang.transports.contract import ModelTransport
from treelang.transports.openai import OpenAITransport


class OpenAIArborist(Arborist):
    """An arborist that makes an `OpenAITransport` of its own where it is given no transport.

    That transport takes its key and address from the config, or from the SDK's environment variables, and is closed
    with the arborist: use `async with`, or `aclose()`.
    """

    def __init__(
        self,
        model: str,
        provider: ToolProvider,
        selector: ToolSelector | None = None,
        memory: Memory | None = None,
        *,
        config: ArboristConfig | None = None,
        transport: ModelTransport | None = None,
        observability: Observability | None = None,
        execution_limits: ExecutionLimits | None = None,
        capability_negotiator: ModelCapabilityNegotiator | None = None,
    ) -> None:
        self._own_transport: OpenAITransport | None = None
        if transport is None:
            transport = self._own_transport = OpenAITransport(
                api_key=config.api_key if config else None, base_url=config.base_url if config else None
            )
        super().__init__(
            model,
            provider,
            selector,
            memory,
            config=config,
            transport=transport,
            observability=observability,
            execution_limits=execution_limits,
            capability_negotiator=capability_negotiator,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the transport that the arborist made; one that it was given remains its owner's to close."""
        if self._own_transport is not None:
            await self._own_transport.aclose()
