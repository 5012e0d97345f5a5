"""Streams that crashed on chunks without text, or that ended too quietly."""

from __future__ import annotations

import pytest

from tests.treelang.bug_cases.case import Case, Exchange, exchanges, play, run
from tests.treelang.bug_cases.speech import (
    CHAT,
    DONE,
    MESSAGES,
    NO_CHOICES,
    RESPONSES,
    STOP,
    counted,
    event_stream,
    output_delta,
    piece,
    response_event,
)
from treelang import ModelRateLimitError, ModelTransportError, ModelUsage, ProviderResponseError
from treelang_conformance import canaries
from treelang_conformance.provider.script import Reply

HTML = Reply.bytes(b"<html>welcome</html>", headers={"content-type": "text/html"})

CASES = (
    Case(
        "CASE-022",
        "pydantic/pydantic-ai#164",
        "a first chunk without choices breaks what looks at the first chunk alone",
        (Exchange(CHAT, event_stream(NO_CHOICES, piece(""), piece("hi"), STOP, DONE), "hi"),),
    ),
    Case(
        "CASE-023",
        "BerriAI/litellm#35785",
        "the finish reason is looked up in a chunk without choices",
        (Exchange(CHAT, event_stream(piece("hi"), STOP, counted(11, 7), NO_CHOICES, DONE), "hi", ModelUsage(11, 7)),),
    ),
    Case(
        "CASE-024",
        "langchain-ai/langchain-azure#23",
        "a chunk without choices comes in the middle",
        (Exchange(CHAT, event_stream(piece("a"), NO_CHOICES, piece("b"), STOP, DONE), "ab"),),
    ),
    Case(
        "CASE-026",
        "mnfst/llm-gateway#2053",
        "a gateway makes data of a comment, which is no JSON",
        (
            Exchange(
                CHAT,
                event_stream(": OPENROUTER PROCESSING", piece("hi"), STOP, DONE),
                error=ProviderResponseError,
            ),
        ),
    ),
    Case(
        "CASE-030",
        "openai/openai-agents-python#3106",
        "a failed response passes for a success",
        (
            Exchange(
                RESPONSES,
                event_stream(output_delta("par"), response_event("failed", error={"code": "server_error"})),
                "par",
                error=ModelTransportError,
                attributes={"code": "server_error"},
            ),
            Exchange(
                RESPONSES,
                event_stream(response_event("failed", error={"code": "rate_limit_exceeded"})),
                error=ModelRateLimitError,
            ),
        ),
    ),
    Case(
        "CASE-031",
        "langchain-ai/langchain#39039",
        "an error event is dropped, and the stream ends without text and without a word",
        (
            Exchange(
                RESPONSES,
                event_stream({"type": "error", "code": "server_error", "message": "boom", "param": None}),
                error=ModelTransportError,
                attributes={"code": "server_error"},
            ),
        ),
    ),
    Case(
        "CASE-032",
        "langchain-ai/langchain#33840",
        "an incomplete response passes for a whole one",
        (
            Exchange(
                RESPONSES,
                event_stream(
                    output_delta('{"a":'),
                    response_event(
                        "incomplete",
                        incomplete_details={"reason": "max_output_tokens"},
                        usage={"input_tokens": 11, "output_tokens": 7, "total_tokens": 18},
                    ),
                ),
                '{"a":',
                ModelUsage(11, 7),
                ProviderResponseError,
            ),
        ),
    ),
    Case(
        "CASE-033",
        "openai/openai-python#3538",
        "the SDK's helper answers an incomplete response with a bare RuntimeError",
        (
            Exchange(
                RESPONSES,
                event_stream(response_event("incomplete", incomplete_details={"reason": "max_output_tokens"})),
                error=ProviderResponseError,
            ),
        ),
    ),
    Case(
        "CASE-034",
        "vercel-labs/ai-python#171",
        "a stream that ends without a finish reason just stops",
        (Exchange(CHAT, event_stream(piece("par")), "par", error=ProviderResponseError),),
    ),
    Case(
        "CASE-036",
        "vectorize-io/hindsight#1368",
        "an error object under status 200 is read as an answer without choices",
        (
            Exchange(
                CHAT,
                Reply.json(
                    {
                        "error": {"message": f"lost {canaries.USER_TEXT}", "type": "server_error", "code": 502},
                        "choices": None,
                    }
                ),
                error=ModelTransportError,
                stream=None,
            ),
        ),
    ),
    Case(
        "CASE-037",
        "agentscope-ai/agentscope#1958",
        "a stream without any chunk has no last chunk to look at",
        (
            Exchange(CHAT, event_stream(), error=ProviderResponseError),
            Exchange(MESSAGES, event_stream(), error=ProviderResponseError),
        ),
    ),
    Case(
        "CASE-038",
        "Ikaros-521/AI-Vtuber#635",
        "a web page under status 200 comes out of the SDK as a str",
        (
            Exchange(CHAT, HTML, error=ProviderResponseError, stream=None),
            Exchange(MESSAGES, HTML, error=ProviderResponseError, stream=None),
        ),
    ),
)


@pytest.mark.parametrize(("exchange", "stream"), exchanges(CASES))
def test_a_stream_yields_its_text_and_never_ends_too_quietly(exchange: Exchange, stream: bool) -> None:
    run(play(exchange, stream=stream))
