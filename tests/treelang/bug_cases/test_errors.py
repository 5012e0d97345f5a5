"""Failures that came out under the wrong name, or not at all."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import pytest

from tests.adapters import ADAPTERS, call
from tests.treelang.bug_cases.case import Case, Exchange, bug, exchanges, play, request_for, run
from tests.treelang.bug_cases.speech import (
    BLOCK,
    CHAT,
    MESSAGES,
    event_stream,
    failed,
    message_refusal,
    piece,
    refusal,
    said,
    started,
)
from treelang import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransportError,
    ModelUsage,
    ProviderResponseError,
)
from treelang_conformance.provider.script import Close, Reply, Reset, Stall
from treelang_conformance.provider.server import Provider

REPORTED = ModelUsage(25, 1)


def in_stream(error_type: str, kind: type[ProviderResponseError], *after: Close) -> Exchange:
    """An error event after one chunk."""
    sends = event_stream(started(25, 1), BLOCK, said("hi"), failed(error_type, "Overloaded"), *after)
    return Exchange(MESSAGES, sends, "hi", REPORTED, kind, attributes={"code": error_type})


CASES = (
    Case(
        "CASE-051",
        "anthropics/anthropic-sdk-python#1258, #1918",
        "an error event comes out as a bare status error with status 200, whatever its type",
        (
            in_stream("overloaded_error", ModelTransportError),
            in_stream("rate_limit_error", ModelRateLimitError),
            in_stream("authentication_error", ModelAuthenticationError),
            in_stream("permission_error", ModelAuthenticationError),
        ),
    ),
    Case(
        "CASE-052",
        "anthropics/anthropic-sdk-python#1919",
        "a connection that is lost or stalls in mid-stream comes out as the HTTP library's own exception",
        (
            Exchange(MESSAGES, event_stream(started(), BLOCK, Reset()), usage=None, error=ModelConnectionError),
            Exchange(
                MESSAGES,
                event_stream(started(25, 1), BLOCK, Stall()),
                usage=REPORTED,
                error=ModelTimeoutError,
                client_timeout=0.1,
            ),
        ),
    ),
    Case(
        "CASE-053",
        "openai/openai-python#3811",
        "a body without its last chunk comes out as the HTTP library's own exception",
        (Exchange(CHAT, event_stream(piece("a"), Close()), "a", error=ModelConnectionError),),
    ),
    Case(
        "CASE-055",
        "BerriAI/litellm#4562",
        "an error event is ignored",
        (in_stream("api_error", ModelTransportError),),
    ),
    Case(
        "CASE-056",
        "use-agent-os/agent-os#2118",
        "an error event and then the end of the connection pass for the end of the answer",
        (in_stream("overloaded_error", ModelTransportError, Close()),),
    ),
    Case(
        "CASE-057",
        "vercel/ai#2453",
        "an error as the first event, or as the whole body, fails to validate",
        (
            Exchange(MESSAGES, event_stream(failed("overloaded_error", "Overloaded")), error=ModelTransportError),
            Exchange(
                MESSAGES, Reply.json(failed("overloaded_error", "Overloaded")), error=ModelTransportError, stream=None
            ),
        ),
    ),
    Case(
        "CASE-058",
        "ax-llm/ax#556",
        "every error event passes for a refusal of the model",
        (Exchange(MESSAGES, event_stream(failed("rate_limit_error", "slow down")), error=ModelRateLimitError),),
    ),
    Case(
        "CASE-060",
        "BerriAI/litellm#37706",
        "a spend limit is status 400; a contract that goes by status must still not take it for a rejection",
        (
            Exchange(
                MESSAGES,
                message_refusal(400, "You have reached your specified API usage limits. You will regain access later."),
                error=ModelTransportError,
                attributes={"status_code": 400},
                stream=None,
                strict=True,
            ),
        ),
    ),
    Case(
        "CASE-064",
        "NousResearch/hermes-agent#24705",
        "a fraction of a second in Retry-After is no integer",
        (
            Exchange(
                CHAT,
                refusal(429, {"message": "x"}, retry_after="0.5"),
                error=ModelRateLimitError,
                attributes={"status_code": 429, "retry_after": 0.5},
                stream=None,
            ),
        ),
    ),
)


@pytest.mark.parametrize(("exchange", "stream"), exchanges(CASES))
def test_a_failure_is_raised_as_what_it_is(exchange: Exchange, stream: bool) -> None:
    run(play(exchange, stream=stream))


@bug("CASE-061", "interviewstreet/hiring-agent#386")
async def test_a_date_in_retry_after_is_the_time_until_then() -> None:
    date = "Wed, 21 Oct 2037 07:28:00 GMT"
    moment = parsedate_to_datetime(date).timestamp()
    adapter = ADAPTERS[CHAT]
    with Provider() as provider:
        provider.reply(refusal(429, {"message": "x"}, retry_after=date))
        async with adapter.connected(provider.url) as transport:
            before = moment - time.time()
            outcome = await call(transport, request_for(adapter), stream=False)
            after = moment - time.time()
    assert isinstance(outcome.error, ModelRateLimitError)
    assert isinstance(outcome.error.retry_after, float)
    assert after <= outcome.error.retry_after <= before
