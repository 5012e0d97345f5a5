"""A thousand streams at once on one transport keep their texts and their usage apart (CMP-9, STR-11, USE-6)."""

from __future__ import annotations

import asyncio

import pytest

from tests.adapters import ADAPTERS, call
from treelang import ModelUsage
from treelang_conformance.neutral import Answer, Usage
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import Gate, Reply, Script, Send, Wait
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.discovery import find_wire

# The SDKs' connection pool takes time that grows with the square of the number, so one wire bears the thousand.
STREAMS = {"openai-chat": 1_000, "openai-responses": 100, "anthropic-messages": 100}


@pytest.mark.parametrize(("wire_name", "streams"), STREAMS.items())
def test_many_concurrent_streams_keep_texts_and_usage_apart(wire_name: str, streams: int) -> None:
    wire = find_wire(wire_name)
    everyone = Gate("all streams are open")

    def counting(request: RecordedRequest) -> Script:
        number = int(wire.read(request).turns[0].text)
        pieces = [f"{number}:{part} " for part in range(3)]
        first, *rest = wire.events(Answer.of(*pieces, usage=Usage(number, number + 1)))
        return Reply.event_stream(Send(first.data), Wait(everyone), *[Send(event.data) for event in rest])

    async def all_streams(provider: Provider) -> list[tuple[str, ModelUsage | None, BaseException | None]]:
        async def one(number: int) -> tuple[str, ModelUsage | None, BaseException | None]:
            request = {"model": "m", "messages": [{"role": "user", "content": str(number)}]}
            outcome = await call(transport, request, stream=True)
            return outcome.text, outcome.usage, outcome.error

        async with ADAPTERS[wire_name].connected(provider.url, client_timeout=300) as transport:
            calls = [asyncio.create_task(one(number)) for number in range(streams)]
            await provider.request_received(streams)
            everyone.open()
            return await asyncio.gather(*calls)

    with Provider() as provider:
        provider.answer_by(counting)
        results = asyncio.run(all_streams(provider))
    assert results == [
        (f"{number}:0 {number}:1 {number}:2 ", ModelUsage(number, number + 1), None) for number in range(streams)
    ]
