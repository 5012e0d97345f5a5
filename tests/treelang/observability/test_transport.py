"""What events tell of the calls of a watched transport, and that the calls themselves stay as they are."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.treelang.observability.recording import RecordingSink
from treelang import (
    ModelCapabilities,
    ModelRateLimitError,
    ModelRequestError,
    ModelUsage,
    Observability,
    ScriptedReply,
    ScriptedTransport,
)
from treelang.observability import REDACTED

REQUEST = {
    "model": "gpt-4.1",
    "messages": [{"role": "user", "content": "Which tree is the tallest?"}],
    "temperature": 0.5,
    "max_tokens": 100,
    "response_format": {"type": "json_object"},
}
REPLY = ScriptedReply(("red", "wood"), ModelUsage(11, 7, reported=True))


def told_of(sink: RecordingSink, name: str) -> dict[str, Any]:
    """An event without what differs from run to run."""
    changing = {"call_id", "duration_seconds", "time_to_first_chunk_seconds"}
    return {key: value for key, value in sink.the(name).items() if key not in changing}


def test_a_completion_is_told_with_its_settings_and_cost_and_without_content() -> None:
    sink = RecordingSink()
    watched = Observability([sink]).watch_transport(ScriptedTransport([REPLY]))

    async def exchange() -> tuple[str, ModelUsage, ModelUsage]:
        return await watched.complete(REQUEST), watched.consume_usage(), watched.consume_usage()

    assert asyncio.run(exchange()) == ("redwood", REPLY.usage, ModelUsage())
    assert sink.names == ["model.request.started", "model.request.completed"]
    assert told_of(sink, "model.request.started") == {
        "provider": "scripted",
        "model": "gpt-4.1",
        "temperature": 0.5,
        "max_tokens": 100,
        "output_type": "json",
        "output_mode": "json_object",
        "messages": REDACTED,
        "response_format": REDACTED,
    }
    assert told_of(sink, "model.request.completed") == {
        "provider": "scripted",
        "model": "gpt-4.1",
        "output_type": "json",
        "output_mode": "json_object",
        "output": REDACTED,
        "output_characters": 7,
        "prompt_tokens": 11,
        "completion_tokens": 7,
    }
    assert sink.the("model.request.started")["call_id"] == sink.the("model.request.completed")["call_id"]


def test_content_is_shown_where_it_is_opted_in_to() -> None:
    sink = RecordingSink()
    watched = Observability([sink], allow_content=True).watch_transport(ScriptedTransport([REPLY]))
    asyncio.run(watched.complete(REQUEST))

    assert sink.the("model.request.started")["messages"] == REQUEST["messages"]
    assert sink.the("model.request.completed")["output"] == "redwood"


def test_a_failure_is_told_by_its_fields_and_raised_unchanged() -> None:
    sink = RecordingSink()
    failure = ModelRateLimitError("slow down, redwood", provider="acme", status_code=429, retry_after=2.5, code="busy")
    watched = Observability([sink]).watch_transport(ScriptedTransport([failure]), provider="acme")

    with pytest.raises(ModelRateLimitError) as raised:
        asyncio.run(watched.complete({"model": "m", "messages": []} | REQUEST))
    assert raised.value is failure
    failed = told_of(sink, "model.request.failed")
    assert {name: failed[name] for name in ("provider", "status_code", "retry_after", "code", "error_type")} == {
        "provider": "acme",
        "status_code": 429,
        "retry_after": 2.5,
        "code": "busy",
        "error_type": "ModelRateLimitError",
    }
    assert "redwood" not in repr(sink.events)


def test_a_request_that_is_none_is_refused_by_the_transport_and_told_as_failed() -> None:
    sink = RecordingSink()
    watched = Observability([sink]).watch_transport(ScriptedTransport(["x"]))
    with pytest.raises(ModelRequestError):
        asyncio.run(watched.complete([]))  # type: ignore[arg-type]  # the point of the test
    assert sink.names == ["model.request.started", "model.request.failed"]


def test_a_stream_is_told_when_it_has_begun_and_when_it_has_ended() -> None:
    sink = RecordingSink()
    watched = Observability([sink]).watch_transport(ScriptedTransport([REPLY]))

    async def exchange() -> list[str]:
        stream = watched.stream(REQUEST)
        assert sink.names == []
        return [chunk async for chunk in stream]

    assert asyncio.run(exchange()) == ["red", "wood"]
    assert sink.names == ["model.stream.started", "model.stream.completed"]
    completed = sink.the("model.stream.completed")
    assert (completed["chunk_count"], completed["prompt_tokens"], completed["completion_tokens"]) == (2, 11, 7)
    assert 0 <= completed["time_to_first_chunk_seconds"] <= completed["duration_seconds"]


def test_a_stream_that_is_closed_early_is_told_as_closed_once() -> None:
    sink = RecordingSink()
    watched = Observability([sink]).watch_transport(ScriptedTransport([REPLY]))

    async def exchange() -> None:
        stream: Any = watched.stream(REQUEST)
        assert await anext(stream) == "red"
        await stream.aclose()
        await stream.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(exchange())
    assert sink.names == ["model.stream.started", "model.stream.closed"]
    assert sink.the("model.stream.closed")["chunk_count"] == 1


class Hanging:
    """Never answers, and says when it was asked."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def complete(self, request: Any) -> str:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets the event")

    async def stream(self, request: Any) -> AsyncIterator[str]:
        yield await self.complete(request)


@pytest.mark.parametrize("stream", [False, True])
def test_a_cancelled_call_is_told_as_cancelled_and_stays_so(stream: bool) -> None:
    sink = RecordingSink()

    async def exchange() -> None:
        inner = Hanging()
        watched = Observability([sink]).watch_transport(inner)

        async def call() -> Any:
            return await (anext(watched.stream(REQUEST)) if stream else watched.complete(REQUEST))

        task = asyncio.create_task(call())
        await inner.asked.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(exchange())
    name = "model.stream" if stream else "model.request"
    assert sink.names == [f"{name}.started", f"{name}.cancelled"]


def test_what_the_inner_transport_declares_is_declared_and_nothing_where_it_declares_nothing() -> None:
    strict = ModelCapabilities(strict_json_schema=True)
    observability = Observability([])
    assert observability.watch_transport(ScriptedTransport([], capabilities=strict)).capabilities("m") == strict

    async def declared() -> ModelCapabilities:
        return observability.watch_transport(Hanging()).capabilities("m")

    assert asyncio.run(declared()) == ModelCapabilities()
