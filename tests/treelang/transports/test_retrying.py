"""Retries happen where a failure may pass, as often and as late as configured, and nowhere else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from treelang import (
    ModelAuthenticationError,
    ModelCapabilities,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelTimeoutError,
    ModelTransportError,
    ModelUsage,
    ProviderResponseError,
    Retry,
    RetryingTransport,
    ScriptedReply,
    ScriptedTransport,
    StructuredOutputUnsupportedError,
)

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def failed(kind: type[ProviderResponseError], **attributes: Any) -> ProviderResponseError:
    return kind("It failed.", provider="acme", **attributes)


async def outcome(transport: RetryingTransport, *, stream: bool) -> tuple[list[str], Exception | None]:
    chunks: list[str] = []
    try:
        if stream:
            async for chunk in transport.stream(REQUEST):
                chunks.append(chunk)  # noqa: PERF401  # a comprehension would lose what came before a failure
        else:
            chunks.append(await transport.complete(REQUEST))
    except ProviderResponseError as error:
        return chunks, error
    return chunks, None


PASSING = [
    failed(ModelRateLimitError, status_code=429),
    failed(ModelTimeoutError),
    failed(ModelConnectionError),
    *[failed(ModelTransportError, status_code=status) for status in (408, 409, 500, 502, 503, 504, 529)],
    failed(ModelTransportError, code="overloaded_error"),
]
FINAL = [
    failed(ModelAuthenticationError, status_code=401),
    failed(ModelRateLimitError, status_code=429, code="insufficient_quota"),
    failed(ModelRateLimitError, status_code=429, retry_after=3600.0),
    failed(ModelRequestError),
    failed(StructuredOutputUnsupportedError, status_code=400),
    failed(ProviderResponseError),
    *[failed(ModelTransportError, status_code=status) for status in (307, 400, 404, 413, 422, 501)],
    failed(ModelTransportError),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_a_failure_that_may_pass_is_retried(error: ProviderResponseError, stream: bool) -> None:
    inner = ScriptedTransport([error, error, "text"])
    retries: list[Retry] = []
    transport = RetryingTransport(inner, first_delay=0.0, on_retry=retries.append)
    assert asyncio.run(outcome(transport, stream=stream)) == (["text"], None)
    assert [(retry.attempt, retry.error) for retry in retries] == [(1, error), (2, error)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("error", FINAL, ids=repr)
def test_a_final_failure_is_not(error: ProviderResponseError, stream: bool) -> None:
    inner = ScriptedTransport([error, "text"])
    assert asyncio.run(outcome(RetryingTransport(inner, first_delay=0.0), stream=stream)) == ([], error)
    assert len(inner.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_the_last_attempts_failure_is_raised(stream: bool) -> None:
    errors = [failed(ModelConnectionError) for _ in range(3)]
    transport = RetryingTransport(ScriptedTransport(errors), attempts=3, first_delay=0.0)
    assert asyncio.run(outcome(transport, stream=stream)) == ([], errors[2])


def test_nothing_is_retried_once_a_chunk_was_yielded() -> None:
    lost = failed(ModelConnectionError)
    inner = ScriptedTransport([ScriptedReply(("half",), error=lost), "text"])
    assert asyncio.run(outcome(RetryingTransport(inner, first_delay=0.0), stream=True)) == (["half"], lost)
    assert len(inner.requests) == 1


def test_an_exception_of_the_consumer_is_not_taken_for_a_failure() -> None:
    async def consume() -> None:
        inner = ScriptedTransport(["text", "again"])
        chunks: Any = RetryingTransport(inner, first_delay=0.0).stream(REQUEST)
        await anext(chunks)
        own = failed(ModelConnectionError)
        with pytest.raises(ModelConnectionError) as caught:
            await chunks.athrow(own)
        assert caught.value is own
        assert len(inner.requests) == 1

    asyncio.run(consume())


@pytest.mark.parametrize(("retry_after", "shortest", "longest"), [(None, 0.0, 2.0), (7.0, 7.0, 9.0)])
def test_the_delay_is_what_the_provider_asks_for_or_a_random_part_of_a_growing_bound(
    retry_after: float | None, shortest: float, longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("treelang.transports.retrying.asyncio.sleep", sleep)
    error = failed(ModelRateLimitError, status_code=429, retry_after=retry_after)
    transport = RetryingTransport(ScriptedTransport([error, error, "text"]), first_delay=1.0)
    asyncio.run(outcome(transport, stream=False))
    assert len(slept) == 2
    assert all(shortest <= seconds <= longest for seconds in slept)


def test_waiting_can_be_cancelled() -> None:
    async def cancel() -> None:
        waiting = asyncio.Event()
        error = failed(ModelRateLimitError, status_code=429, retry_after=30.0)
        inner = ScriptedTransport([error, "text"])
        transport = RetryingTransport(inner, on_retry=lambda _: waiting.set())
        task = asyncio.create_task(transport.complete(REQUEST))
        await waiting.wait()
        task.cancel("stop")
        with pytest.raises(asyncio.CancelledError, match="stop"):
            await task
        assert len(inner.requests) == 1

    asyncio.run(cancel())


def test_usage_and_capabilities_are_the_inner_transports_or_unknown() -> None:
    class Bare:
        async def complete(self, request: Any) -> str:
            return "text"

        def stream(self, request: Any) -> Any:
            raise NotImplementedError

    async def calls() -> None:
        reply = ScriptedReply(("text",), ModelUsage(3, 4, reported=True))
        strict = ModelCapabilities(strict_json_schema=True)
        transport = RetryingTransport(ScriptedTransport([reply], capabilities=strict))
        assert await transport.complete(REQUEST) == "text"
        assert transport.consume_usage() == ModelUsage(3, 4)
        assert transport.capabilities("m") == strict
        bare = RetryingTransport(Bare())
        assert await bare.complete(REQUEST) == "text"
        assert bare.consume_usage().reported is False
        assert bare.capabilities("m") == ModelCapabilities()

    asyncio.run(calls())


def test_no_attempt_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        RetryingTransport(ScriptedTransport([]), attempts=0)
