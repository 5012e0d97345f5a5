"""Keys, prompts and schemas that came out in errors and logs."""

from __future__ import annotations

import logging

import pytest

from tests.adapters import ADAPTERS, call
from tests.treelang.bug_cases.case import STRICT, Case, Exchange, bug, exchanges, play, request_for, run
from tests.treelang.bug_cases.speech import CHAT, MESSAGES, message_refusal, refusal
from treelang import ModelTransportError
from treelang_conformance import canaries
from treelang_conformance.provider.server import Provider

ECHO = "bad request: " + " ".join(canaries.ALL.values())

CASES = (
    Case(
        "CASE-071",
        "steve-goldberg/NocoBot#3",
        "the provider's words, which echo prompt and key, are in the error's text",
        (
            Exchange(
                CHAT,
                refusal(400, {"message": ECHO, "type": canaries.USER_TEXT, "code": canaries.API_KEY}),
                error=ModelTransportError,
                attributes={"status_code": 400, "code": None},
                stream=None,
            ),
            Exchange(
                MESSAGES,
                message_refusal(400, ECHO, error_type=canaries.USER_TEXT),
                error=ModelTransportError,
                attributes={"status_code": 400, "code": None},
                stream=None,
            ),
        ),
    ),
)


@pytest.mark.parametrize(("exchange", "stream"), exchanges(CASES))
def test_an_error_does_not_repeat_the_providers_words(exchange: Exchange, stream: bool) -> None:
    run(play(exchange, stream=stream))


@bug("CASE-072", "HolmesGPT/holmesgpt#2010")
async def test_no_log_record_of_ours_holds_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    """The SDKs' own loggers are theirs: at DEBUG some of them write the whole request."""
    caplog.set_level(logging.DEBUG)
    for adapter in ADAPTERS.values():
        with Provider() as provider:
            provider.reply(refusal(400, {"message": ECHO}))
            async with adapter.connected(provider.url) as transport:
                outcome = await call(transport, request_for(adapter, response_format=STRICT), stream=False)
        assert type(outcome.error) is ModelTransportError
    assert {record.name.partition(".")[0] for record in caplog.records} >= {"openai", "anthropic"}
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("treelang")]
    assert [text for text in ours if any(canary in text for canary in canaries.ALL.values())] == []


@bug("CASE-073", "ArcReel/ArcReel#1686")
async def test_an_error_keeps_nothing_of_the_request() -> None:
    for adapter in ADAPTERS.values():
        with Provider() as provider:
            provider.reply(refusal(400, {"message": "x", "code": "bad"}))
            async with adapter.connected(provider.url) as transport:
                outcome = await call(transport, request_for(adapter), stream=False)
        assert isinstance(outcome.error, ModelTransportError)
        assert vars(outcome.error) == {
            "provider": adapter.wire.partition("-")[0],
            "status_code": 400,
            "retry_after": None,
            "code": "bad",
        }
