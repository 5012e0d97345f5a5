"""The transport for applications' own tests plays its script and keeps the contract."""

from __future__ import annotations

import asyncio

import pytest

from treelang import (
    ModelCapabilities,
    ModelRateLimitError,
    ModelRequestError,
    ModelUsage,
    ScriptedReply,
    ScriptedTransport,
)

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def test_texts_chunks_errors_and_usage_come_in_order() -> None:
    limited = ModelRateLimitError("slow down", provider="acme")

    async def calls() -> None:
        transport = ScriptedTransport(
            ["one", ScriptedReply(("t", "", "wo"), ModelUsage(3, 4, reported=True)), limited],
            capabilities=ModelCapabilities(strict_json_schema=True),
        )
        assert await transport.complete(REQUEST) == "one"
        assert transport.consume_usage().reported is False
        assert [chunk async for chunk in transport.stream(REQUEST)] == ["t", "wo"]
        assert transport.consume_usage() == ModelUsage(3, 4)
        with pytest.raises(ModelRateLimitError) as caught:
            await transport.complete(REQUEST)
        assert caught.value is limited
        assert transport.capabilities("any") == ModelCapabilities(strict_json_schema=True)
        assert [request.model for request in transport.requests] == ["m", "m", "m"]
        assert repr(transport) == "ScriptedTransport(provider='scripted', requests=3)"

    asyncio.run(calls())


def test_a_call_beyond_the_script_and_a_malformed_request_are_told() -> None:
    async def calls() -> None:
        transport = ScriptedTransport([])
        with pytest.raises(ModelRequestError):
            await transport.complete({})
        with pytest.raises(AssertionError, match="more often than its script has steps"):
            await transport.complete(REQUEST)

    asyncio.run(calls())
