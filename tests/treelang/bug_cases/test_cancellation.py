"""Calls that went on after they were cancelled, and connections that nobody gave back."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, cast

import pytest

from tests.adapters import ADAPTERS, call
from tests.treelang.bug_cases.case import bug, request_for
from tests.treelang.bug_cases.speech import (
    BLOCK,
    CHAT,
    DONE,
    MESSAGES,
    STOP,
    event_stream,
    failed,
    piece,
    refusal,
    said,
    started,
)
from treelang import (
    AnthropicTransport,
    ModelRateLimitError,
    ModelTransportError,
    OpenAITransport,
    ProviderResponseError,
    UsageAwareTransport,
)
from treelang_conformance import canaries
from treelang_conformance.provider.script import Gate, Reply, Stall, Wait
from treelang_conformance.provider.server import Provider
from treelang_conformance.provider.unreachable import unaccepting_url
from treelang_conformance.waiting import where

STALLING = {
    CHAT: event_stream(piece("a"), Stall()),
    MESSAGES: event_stream(started(), BLOCK, said("a"), Stall()),
}
"""Streams that say "a" and then nothing more."""


@contextlib.asynccontextmanager
async def streaming(wire: str, *replies: Reply) -> AsyncIterator[tuple[AsyncGenerator[str], Provider]]:
    """A stream that has yielded its first chunk, and its provider."""
    adapter = ADAPTERS[wire]
    with Provider() as provider:
        provider.reply(*replies)
        async with adapter.connected(provider.url) as transport:
            chunks = cast("AsyncGenerator[str]", transport.stream(request_for(adapter)))
            assert await anext(chunks) == "a"
            yield chunks, provider


async def cancelled(task: asyncio.Task[Any]) -> bool:
    """Cancel a task and say whether it counts as cancelled."""
    task.cancel()
    await asyncio.wait({task})
    return task.cancelled()


@pytest.mark.parametrize("wire", ADAPTERS)
@bug("CASE-041", "BerriAI/litellm#22100")
async def test_a_call_that_is_cancelled_while_connecting_counts_as_cancelled(wire: str) -> None:
    adapter = ADAPTERS[wire]
    with unaccepting_url() as url:
        async with adapter.connected(url) as transport:
            task = asyncio.create_task(_complete(transport, request_for(adapter)))
            while not any("sock_connect" in where(one) for one in asyncio.all_tasks()):  # noqa: ASYNC110  # no event tells
                await asyncio.sleep(0)
            assert await cancelled(task)


async def _complete(transport: UsageAwareTransport, request: Any) -> str:
    return await transport.complete(request)


@pytest.mark.parametrize("stream", [False, True])
@bug("CASE-042", "Estudely/riftor#113")
async def test_no_call_sleeps_until_a_retry(stream: bool) -> None:
    """There is nothing to cancel: a rate limit is raised at once, even by an SDK client that would try again."""
    with Provider() as provider:
        provider.answer_by(lambda _: refusal(429, {"message": "slow down"}, retry_after="1"))
        async with _sdk_client("openai", "AsyncOpenAI", f"{provider.url}/v1", max_retries=2) as client:
            outcome = await call(OpenAITransport(client=client), request_for(ADAPTERS[CHAT]), stream=stream)
        assert isinstance(outcome.error, ModelRateLimitError)
        assert outcome.error.retry_after == 1.0
        assert len(provider.requests) == 1


@pytest.mark.parametrize("wire", STALLING)
@bug("CASE-043", "langflow-ai/langflow#6625")
async def test_a_stream_that_is_cancelled_while_waiting_counts_as_cancelled(wire: str) -> None:
    async with streaming(wire, STALLING[wire]) as (chunks, _):
        task = asyncio.create_task(_next(chunks))
        await asyncio.sleep(0)
        assert await cancelled(task)


@pytest.mark.parametrize("wire", STALLING)
@bug("CASE-044", "BerriAI/litellm#9178")
async def test_the_provider_sees_the_connection_closed_when_the_consumer_is_cancelled(wire: str) -> None:
    async with streaming(wire, STALLING[wire]) as (chunks, provider):
        task = asyncio.create_task(_next(chunks))
        await asyncio.sleep(0)
        await cancelled(task)
        await provider.closed()


async def _next(chunks: AsyncIterator[str]) -> str:
    return await anext(chunks)


@bug("CASE-045", "openai/openai-python#763")
async def test_a_stream_read_to_its_end_gives_its_connection_back() -> None:
    with Provider() as provider:
        provider.answer_by(lambda _: event_stream(piece("a"), STOP, DONE))
        async with _sdk_client("openai", "AsyncOpenAI", f"{provider.url}/v1", connections=2) as client:
            transport = OpenAITransport(client=client)
            for _ in range(3):
                outcome = await call(transport, request_for(ADAPTERS[CHAT]), stream=True)
                assert (outcome.text, outcome.error) == ("a", None)


@bug("CASE-046", "mistralai/client-python#532")
async def test_a_stream_answered_with_a_failing_status_gives_its_connection_back() -> None:
    with Provider() as provider:
        provider.reply(*[refusal(429, {"message": "x"})] * 5, event_stream(piece("a"), STOP, DONE))
        async with _sdk_client("openai", "AsyncOpenAI", f"{provider.url}/v1", connections=2) as client:
            transport = OpenAITransport(client=client)
            for _ in range(5):
                outcome = await call(transport, request_for(ADAPTERS[CHAT]), stream=True)
                assert type(outcome.error) is ModelRateLimitError
            outcome = await call(transport, request_for(ADAPTERS[CHAT]), stream=True)
            assert (outcome.text, outcome.error) == ("a", None)


@bug("CASE-047", "abi/screenshot-to-code#534")
async def test_a_stream_that_fails_half_way_gives_its_connection_back() -> None:
    failing = event_stream(started(), BLOCK, said("a"), failed("overloaded_error", "Overloaded"), Stall())
    with Provider() as provider:
        provider.answer_by(lambda _: failing)
        async with _sdk_client("anthropic", "AsyncAnthropic", provider.url, connections=2) as client:
            transport = AnthropicTransport(client=client)
            for _ in range(3):
                outcome = await call(transport, request_for(ADAPTERS[MESSAGES]), stream=True)
                assert type(outcome.error) is ModelTransportError
            await provider.closed()


@bug("CASE-048", "pydantic/pydantic-ai#1524")
async def test_leaving_a_stream_reads_no_further() -> None:
    gate = Gate()
    rest = [piece("x")] * 199
    async with streaming(CHAT, event_stream(piece("a"), Wait(gate), *rest, STOP, DONE)) as (chunks, provider):
        await chunks.aclose()
        await provider.closed()
        assert [chunk async for chunk in chunks] == []


@pytest.mark.parametrize("wire", STALLING)
@bug("CASE-049", "crewAIInc/crewAI#5312")
async def test_a_stream_can_be_closed_while_the_provider_stalls(wire: str) -> None:
    async with streaming(wire, STALLING[wire]) as (chunks, provider):
        await chunks.aclose()
        await provider.closed()


@bug("CASE-050", "GitHubSecurityLab/seclab-taskflow-agent#212")
async def test_a_stream_that_was_interrupted_does_not_then_end_as_if_it_were_whole() -> None:
    gate = Gate()
    async with streaming(CHAT, event_stream(piece("a"), Wait(gate), piece("b"), STOP, DONE)) as (chunks, provider):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(chunks), 0.02)
        gate.open()
        with pytest.raises(ProviderResponseError, match="interrupted"):
            await anext(chunks)
        await provider.closed()


@contextlib.asynccontextmanager
async def _sdk_client(
    sdk_name: str, client_name: str, url: str, *, max_retries: int = 0, connections: int = 10
) -> AsyncIterator[Any]:
    """An SDK client of the user's own, which waits for a connection of its pool for a second at most."""
    sdk = importlib.import_module(sdk_name)
    limits = type(sdk.DEFAULT_CONNECTION_LIMITS)(max_connections=connections)
    http_client = sdk.DefaultAsyncHttpxClient(limits=limits, timeout=1.0)
    make = getattr(sdk, client_name)
    async with make(
        api_key=canaries.API_KEY, base_url=url, max_retries=max_retries, timeout=1.0, http_client=http_client
    ) as client:
        yield client
