"""The project's own adapters on the loopback provider, by the name of their wire."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

from treelang import ModelRequest, UsageAwareTransport
from treelang_conformance import canaries, subjects
from treelang_conformance.endpoint import Endpoint, TransportFactory
from treelang_conformance.outcome import Outcome
from treelang_conformance.subject import Subject

CLIENT_TIMEOUT = 5.0
"""Seconds for connecting and for each read, where a test does not want to see the timeout itself."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter: how it is made, what its SDK wants behind the host, and a model that takes strict output."""

    wire: str
    make: TransportFactory
    base_path: str
    model: str

    @contextlib.asynccontextmanager
    async def connected(
        self, host_url: str, *, api_key: str = canaries.API_KEY, client_timeout: float = CLIENT_TIMEOUT
    ) -> AsyncIterator[UsageAwareTransport]:
        """A transport that sends its requests to `host_url`, closed at the end of the block."""
        subject = Subject(self.make, name=self.wire)
        endpoint = Endpoint(host_url + self.base_path, api_key, client_timeout, self.wire, self.model)
        transport = await subject.build(endpoint)
        try:
            yield cast("UsageAwareTransport", transport)
        finally:
            await subject.dispose(transport)


ADAPTERS = {
    adapter.wire: adapter
    for adapter in (
        Adapter("openai-chat", subjects.openai_chat, "/v1", "gpt-4.1"),
        Adapter("openai-responses", subjects.openai_responses, "/v1", "gpt-4.1"),
        Adapter("anthropic-messages", subjects.anthropic_messages, "", "claude-sonnet-4-6"),
    )
}


async def call(transport: UsageAwareTransport, request: ModelRequest, *, stream: bool) -> Outcome:
    """Make one call, consume it whole, and tell how it ended; what it raises is in the outcome."""
    chunks: list[str] = []
    error: Exception | None = None
    try:
        if stream:
            async for chunk in transport.stream(request):
                chunks.append(chunk)  # noqa: PERF401  # a comprehension would lose what came before a failure
        else:
            chunks.append(await transport.complete(request))
    except Exception as raised:
        error = raised
    return Outcome(tuple(chunks), error, transport.consume_usage())
