"""A stream that is interrupted passes that on as it came, and is never taken for a whole one (CAN-1, STR-5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from tests.adapters import ADAPTERS
from treelang import ProviderResponseError
from treelang.transports import sdk
from treelang_conformance.neutral import Answer
from treelang_conformance.provider.script import Gate, Reply, Send, Wait
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.discovery import find_wire

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
TURNS = 12
"""Turns of the loop, more than there are between the first chunk and the deadline of the draining."""


def test_a_cancellation_keeps_its_message_at_whatever_turn_of_the_draining_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sdk, "_DRAIN_SECONDS", 0.0)
    wire = find_wire("openai-chat")

    async def cancelled_after(turns: int, provider: Provider) -> tuple[object, ...] | None:
        answer = [Send(event.data) for event in wire.events(Answer.of("an oak"))]
        provider.reply(Reply.event_stream(*answer, Wait(Gate("never opened"))))
        last_chunk = asyncio.Event()

        async def consume() -> None:
            async for _ in transport.stream(REQUEST):
                last_chunk.set()

        async with ADAPTERS["openai-chat"].connected(provider.url) as transport:
            task = asyncio.create_task(consume())
            await last_chunk.wait()
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel("the caller's own words")
            try:
                await task
            except asyncio.CancelledError as error:
                return error.args
        return None

    endings = []
    for turns in range(TURNS):
        with Provider() as provider:
            endings.append(asyncio.run(cancelled_after(turns, provider)))
    kept = endings.count(("the caller's own words",))
    assert endings == [("the caller's own words",)] * kept + [None] * (TURNS - kept)
    assert kept > 0


def test_a_stream_that_was_thrown_a_cancellation_is_not_over_but_interrupted() -> None:
    wire = find_wire("openai-chat")

    async def body(provider: Provider) -> None:
        async with ADAPTERS["openai-chat"].connected(provider.url) as transport:
            stream = cast("AsyncGenerator[str, None]", transport.stream(REQUEST))
            assert await anext(stream) == "an "
            with pytest.raises(asyncio.CancelledError):
                await stream.athrow(asyncio.CancelledError())
            with pytest.raises(ProviderResponseError, match="interrupted"):
                await anext(stream)

    with Provider() as provider:
        provider.reply(Reply.event_stream(*[Send(event.data) for event in wire.events(Answer.of("an ", "oak"))]))
        asyncio.run(body(provider))
