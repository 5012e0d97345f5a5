"""Rejections of strict output that were not recognised, and failures that were taken for one.

Whoever falls back to JSON mode does so on `StructuredOutputUnsupportedError` and on nothing else; so here it is
decided, by the transport alone, whether a second request will follow.
"""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.adapters import ADAPTERS
from tests.treelang.bug_cases.case import STRICT, Case, Exchange, bug, exchanges, play, request_for, run
from tests.treelang.bug_cases.speech import (
    BLOCK,
    CHAT,
    MESSAGES,
    completion,
    event_stream,
    failed,
    message,
    message_refusal,
    refusal,
    said,
    started,
)
from treelang import CapabilityAwareTransport, ModelTransportError, ModelUsage, StructuredOutputUnsupportedError
from treelang_conformance import canaries
from treelang_conformance.provider.script import Script
from treelang_conformance.provider.server import Provider

TOO_LARGE = (
    "The compiled grammar is too large, which would cause performance issues. "
    "Simplify your tool schemas or reduce the number of strict tools."
)
WORD_JSON = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."


def rejection(wire: str, sends: Script) -> Exchange:
    """A strict request that meets an explicit rejection."""
    attributes = {"status_code": 400}
    return Exchange(
        wire, sends, error=StructuredOutputUnsupportedError, attributes=attributes, stream=None, strict=True
    )


def other(wire: str, sends: Script, *, status: int = 400, strict: bool = True) -> Exchange:
    """A request that fails for another reason, or whose format nobody enforces."""
    attributes = {"status_code": status}
    return Exchange(wire, sends, error=ModelTransportError, attributes=attributes, stream=None, strict=strict)


CASES = (
    Case(
        "CASE-075",
        "LargeModGames/spotatui#430",
        "every bad request is taken for a rejection",
        (other(CHAT, refusal(422, {"message": "model must be a string", "param": "model"}), status=422),),
    ),
    Case(
        "CASE-076",
        "microsoft/autogen#7201",
        "DeepSeek's rejection is not recognised",
        (
            rejection(
                CHAT,
                refusal(
                    400,
                    {
                        "message": "This response_format type is unavailable now",
                        "type": "invalid_request_error",
                        "param": None,
                        "code": "invalid_request_error",
                    },
                ),
            ),
        ),
    ),
    Case(
        "CASE-077",
        "web-infra-dev/midscene#259",
        "a rejection without code and parameter is not recognised",
        (
            rejection(
                CHAT,
                refusal(
                    400,
                    {
                        "message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported "
                        "with this model. Learn more about supported models at the Structured Outputs guide.",
                        "type": "invalid_request_error",
                        "param": None,
                        "code": None,
                    },
                ),
            ),
        ),
    ),
    Case(
        "CASE-080",
        "i-am-bee/beeai-framework#1215",
        "Groq's rejection of a keyword of the schema is not recognised",
        (
            rejection(
                CHAT,
                refusal(
                    400,
                    {
                        "message": "invalid schema for response format: "
                        "response_format/json_schema/next_step: minItems is not supported",
                        "type": "invalid_request_error",
                    },
                ),
            ),
        ),
    ),
    Case(
        "CASE-083",
        "jaseci-labs/jac#8114",
        "a gateway passes on an error in a form that is no JSON",
        (
            other(
                CHAT,
                refusal(
                    400,
                    {
                        "message": "Provider returned error",
                        "code": 400,
                        "metadata": {
                            "raw": f'data: {{"error":{{"code":"invalid_parameter_error","message":"{WORD_JSON}"}}}}',
                            "provider_name": "Alibaba",
                        },
                    },
                ),
            ),
        ),
    ),
    Case(
        "CASE-084",
        "srbhr/Resume-Matcher#857",
        "an error that is a bare text, about JSON mode itself, starts another round",
        (other(CHAT, refusal(400, "'response_format.type' must be 'json_schema' or 'text'")),),
    ),
    Case(
        "CASE-085",
        "anthropics/anthropic-sdk-python#1185",
        "a grammar that is too large is a rejection, where the request asked for strict output",
        (
            rejection(MESSAGES, message_refusal(400, TOO_LARGE)),
            other(MESSAGES, message_refusal(400, TOO_LARGE), strict=False),
        ),
    ),
    Case(
        "CASE-086",
        "TanStack/ai#682",
        "the same with the path of the field before it",
        (rejection(MESSAGES, message_refusal(400, f"output_config.format.schema: Invalid schema: {TOO_LARGE}")),),
    ),
    Case(
        "CASE-087",
        "anthropics/anthropic-sdk-python#1889",
        "a strict stream that fails after its first chunk is taken for a rejection",
        (
            Exchange(
                MESSAGES,
                event_stream(started(25, 1), BLOCK, said("{"), failed("invalid_request_error", "Invalid request data")),
                "{",
                ModelUsage(25, 1),
                ModelTransportError,
                strict=True,
            ),
        ),
    ),
    Case(
        "CASE-090",
        "tashfeenahmed/freellmapi#516",
        "a server ignores the format; whether the text is JSON is for the caller to say, who gets text and usage",
        (
            Exchange(
                CHAT,
                completion("Sure! Here is your answer: 42", 5, 9),
                "Sure! Here is your answer: 42",
                ModelUsage(5, 9),
                stream=False,
                strict=True,
            ),
        ),
    ),
)


@pytest.mark.parametrize(("exchange", "stream"), exchanges(CASES))
def test_a_rejection_of_strict_output_is_recognised_and_nothing_else_is(exchange: Exchange, stream: bool) -> None:
    run(play(exchange, stream=stream))


async def sent(wire: str, answer: Script, **changes: Any) -> Any:
    """The body of the request that an adapter sends."""
    adapter = ADAPTERS[wire]
    with Provider() as provider:
        provider.reply(answer)
        async with adapter.connected(provider.url) as transport:
            await transport.complete(request_for(adapter, **changes))
        (request,) = provider.requests
        return request.json()


@bug("CASE-082", "vercel/ai#7303")
async def test_a_request_for_json_has_the_word_in_a_message() -> None:
    """The provider's complaint about the missing word is no rejection, and the transport never earns it."""
    await play(other(CHAT, refusal(400, {"message": WORD_JSON, "type": "invalid_request_error"})), stream=False)
    body = await sent(CHAT, completion("{}", 1, 1), response_format={"type": "json_object"})
    assert body["response_format"] == {"type": "json_object"}
    assert any("json" in turn["content"].lower() for turn in body["messages"])


@bug("CASE-088", "prism-php/prism#912")
async def test_strict_output_is_asked_for_in_the_field_of_today() -> None:
    body = await sent(MESSAGES, message("{}", input_tokens=1, output_tokens=1), response_format=STRICT)
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": STRICT["json_schema"]["schema"]}}
    assert "output_format" not in body
    deprecated = "output_format: This field is deprecated. Use 'output_config.format' instead."
    await play(rejection(MESSAGES, message_refusal(400, deprecated)), stream=False)


@bug("CASE-089", "BerriAI/litellm#29604")
async def test_a_strict_request_is_strict_on_the_wire() -> None:
    body = await sent(CHAT, completion("{}", 1, 1), response_format=STRICT)
    assert body["response_format"] == STRICT
    assert canaries.SCHEMA_TEXT in str(body)


@bug("CASE-091", "The-PR-Agent/pr-agent#2456")
async def test_a_rejected_temperature_is_no_rejected_schema() -> None:
    """Whoever builds requests asks `capabilities` first and leaves the temperature out."""
    words = "`temperature` is deprecated for this model."
    await play(other(MESSAGES, message_refusal(400, words)), stream=False)
    with Provider() as provider:
        async with ADAPTERS[MESSAGES].connected(provider.url) as transport:
            capable = cast("CapabilityAwareTransport", transport)
            assert not capable.capabilities("claude-opus-4-8").temperature
    body = await sent(MESSAGES, message("hi", input_tokens=1, output_tokens=1), model="claude-opus-4-8")
    assert "temperature" not in body
