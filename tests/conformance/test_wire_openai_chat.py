"""The chat wire against OpenAI's own SDK: what the wire sends the SDK takes, what the SDK sends the wire reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import openai
import pytest

from tests.conformance.loopback import run
from tests.conformance.support.openai_sdk import Call, connected, require_raised
from tests.conformance.test_wires import CALL, received, sound_body
from treelang_conformance.neutral import (
    Answer,
    Failure,
    Finish,
    ReadMessage,
    ReadTool,
    Refusal,
    ServerToolCall,
    Text,
    Thinking,
    UnknownBlock,
    Usage,
)
from treelang_conformance.provider.script import Reply, Send
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.openai_chat import OpenAIChatWire

WIRE = OpenAIChatWire()
MESSAGES: list[Any] = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Which tree?"}]


async def complete(provider: Provider, **arguments: Any) -> Any:
    async with connected(provider) as client:
        return await client.chat.completions.create(model=WIRE.model, messages=MESSAGES, **arguments)


async def stream(provider: Provider, **arguments: Any) -> list[Any]:
    async with connected(provider) as client:
        chunks = await client.chat.completions.create(model=WIRE.model, messages=MESSAGES, stream=True, **arguments)
        async with chunks:
            return [chunk async for chunk in chunks]


def completed(answer: Answer) -> Any:
    with Provider() as provider:
        provider.reply(WIRE.completion(answer))
        return run(complete(provider))


def streamed(events: Sequence[Event]) -> list[Any]:
    with Provider() as provider:
        provider.reply(Reply.event_stream(*(Send(event.data) for event in events)))
        return run(stream(provider))


def text_of(chunks: list[Any]) -> str:
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices or () if choice.index == 0]
    contents = [getattr(delta, "content", None) or "" for delta in deltas]
    return "".join(content if isinstance(content, str) else _joined(content) for content in contents)


def _joined(parts: list[Any]) -> str:
    return "".join(part["text"] for part in parts if part["type"] == "text")


def test_the_sdk_reads_text_usage_and_finish_of_a_completion() -> None:
    completion = completed(Answer.of("A ", "redwood.", usage=Usage(20, 9, cached_tokens=4, reasoning_tokens=3)))
    assert completion.choices[0].message.content == "A redwood."
    assert completion.choices[0].finish_reason == "stop"
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (20, 9)
    assert completion.usage.total_tokens == 29
    assert completion.usage.prompt_tokens_details.cached_tokens == 4
    assert completion.usage.completion_tokens_details.reasoning_tokens == 3


def test_the_sdk_reads_text_usage_and_finish_of_a_stream() -> None:
    chunks = streamed(WIRE.events(Answer.of("A ", "redwood.", usage=Usage(20, 9))))
    assert text_of(chunks) == "A redwood."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices] == [None, None, None, "stop"]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert [chunk.usage and chunk.usage.completion_tokens for chunk in chunks] == [None] * 4 + [9]


def test_running_totals_stand_on_the_chunks() -> None:
    chunks = streamed(
        WIRE.events(Answer.of("A ", "redwood.", running=(Usage(20, 1), Usage(20, 5)), usage=Usage(20, 9)))
    )
    assert [chunk.usage and chunk.usage.completion_tokens for chunk in chunks] == [1, 5, None, None, 9]


def test_running_totals_need_chunks_to_stand_on() -> None:
    with pytest.raises(ValueError, match="3 running totals do not fit on 2 chunks"):
        WIRE.events(Answer.of("A redwood.", running=(Usage(1, 1),) * 3))


@pytest.mark.parametrize(
    ("finish", "word"),
    [
        (Finish.STOP, "stop"),
        (Finish.OTHER_STOP, "eos"),
        (Finish.LENGTH, "length"),
        (Finish.CONTENT_FILTER, "content_filter"),
        (Finish.TOOL_CALLS, "tool_calls"),
        (Finish.REFUSAL, "stop"),
        (Finish.FAILED, "error"),
        (Finish.UNKNOWN, "x_unheard_of"),
        (Finish.ABSENT, None),
    ],
)
def test_a_finish_has_the_providers_word(finish: Finish, word: str | None) -> None:
    answer = Answer.of("A redwood.", finish=finish)
    assert completed(answer).choices[0].finish_reason == word
    reasons = [chunk.choices[0].finish_reason for chunk in streamed(WIRE.events(answer)) if chunk.choices]
    assert [reason for reason in reasons if reason] == ([word] if word else [])


@pytest.mark.parametrize("answer", [Answer((Refusal("I can't."),)), Answer((), Finish.REFUSAL)])
def test_a_refusal_has_a_field_of_its_own(answer: Answer) -> None:
    message = completed(answer).choices[0].message
    assert message.content is None
    assert message.refusal.startswith("I")
    deltas = [chunk.choices[0].delta for chunk in streamed(WIRE.events(answer)) if chunk.choices]
    assert "".join(getattr(delta, "refusal", None) or "" for delta in deltas) == message.refusal


def test_a_tool_call_is_whole() -> None:
    answer = Answer((Text(("Let me measure.",)), CALL, CALL), Finish.TOOL_CALLS)
    message = completed(answer).choices[0].message
    assert message.content == "Let me measure."
    assert [(call.function.name, call.function.arguments) for call in message.tool_calls] == [
        (CALL.name, CALL.arguments)
    ] * 2
    deltas = [chunk.choices[0].delta for chunk in streamed(WIRE.events(answer)) if chunk.choices]
    pieces = [piece for delta in deltas for piece in delta.tool_calls or ()]
    assert [piece.index for piece in pieces] == [0, 0, 1, 1]
    assert [piece.function.name for piece in pieces] == [CALL.name, None] * 2
    assert "".join(piece.function.arguments for piece in pieces) == CALL.arguments * 2


def test_several_texts_are_a_list_of_parts() -> None:
    answer = Answer((Text(("The ",)), Thinking("Hm."), UnknownBlock(), Text(("tallest", " tree"))))
    content: Any = completed(answer).choices[0].message.content
    assert [part["type"] for part in content] == ["text", "thinking", "x_unheard_of", "text"]
    assert _joined(content) == "The tallest tree"
    assert text_of(streamed(WIRE.events(answer))) == "The tallest tree"


def test_reasoning_and_a_search_of_the_providers_own_stand_beside_the_text() -> None:
    answer = Answer((Thinking("Hm."), ServerToolCall(), Text(("A redwood.",))))
    message = completed(answer).choices[0].message
    assert (message.content, message.reasoning_content) == ("A redwood.", "Hm.")
    assert message.annotations[0].type == "url_citation"
    assert text_of(streamed(WIRE.events(answer))) == "A redwood."


@pytest.mark.parametrize("name", [name for name in WIRE.silent_events() if name != "retry-line"])
def test_a_silent_event_changes_nothing(name: str) -> None:
    # The SDK fails on a retry line (openai-python#2722), although the SSE standard knows it.
    events = list(WIRE.events(Answer.of("A ", "redwood.")))
    events.insert(2, WIRE.silent_events()[name])
    chunks = streamed(events)
    assert text_of(chunks) == "A redwood."
    assert chunks[-1].usage.completion_tokens == 7


@pytest.mark.parametrize("failure", [*WIRE.failures().values(), *WIRE.rejections().values()])
@pytest.mark.parametrize("call", [complete, stream])
def test_the_sdk_raises_for_an_error(call: Call, failure: Failure) -> None:
    require_raised(WIRE, failure, call)


def test_the_sdk_raises_for_an_error_inside_a_stream() -> None:
    events = [*WIRE.events(Answer.of("A "))[:2], *WIRE.error_events(WIRE.failures()["rate-limit"]).values()]
    assert events[-1].kind is EventKind.ERROR
    with pytest.raises(openai.APIError) as caught:
        streamed(events)
    assert caught.value.code == "rate_limit_exceeded"


SCHEMA = {"type": "object", "properties": {"tree": {"type": "string"}}, "additionalProperties": False}
FUNCTION = {"name": "measure", "description": "Measure a tree.", "parameters": SCHEMA}


def test_what_the_sdk_sends_is_read() -> None:
    with Provider() as provider:
        provider.reply(*[WIRE.completion(Answer.of("A redwood."))] * 2)
        run(
            complete(
                provider,
                temperature=0.5,
                max_tokens=9,
                tools=[{"type": "function", "function": FUNCTION}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "tree", "strict": True, "schema": SCHEMA},
                },
            )
        )
        run(complete(provider, max_completion_tokens=9, response_format={"type": "json_object"}))
        full, other = (WIRE.read(request) for request in provider.requests)
    assert (full.model, full.system, full.turns) == (WIRE.model, ["Be short."], [ReadMessage("user", "Which tree?")])
    assert (full.stream, full.temperature, full.max_tokens) == (False, 0.5, 9)
    assert full.tools == [ReadTool("measure", "Measure a tree.", SCHEMA)]
    assert (full.output, full.schema_name, full.schema) == ("strict", "tree", SCHEMA)
    assert (other.output, other.max_tokens, other.tools, other.schema) == ("json", 9, None, None)


def test_a_stream_asks_for_usage_or_does_not() -> None:
    with Provider() as provider:
        provider.answer_by(lambda _: Reply.event_stream(*(Send(e.data) for e in WIRE.events(Answer.of("x")))))
        run(stream(provider))
        run(stream(provider, stream_options={"include_usage": True}))
        read = [WIRE.read(request) for request in provider.requests]
    assert [(request.stream, request.asks_usage) for request in read] == [(True, False), (True, True)]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"max_completion_tokens": 5}, "must not both be given"),
        ({"stream_options": {"include_usage": True}}, "stream_options must be given only with stream"),
        ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage must be a boolean"),
        ({"response_format": {"type": "tree"}}, "response_format.type must be"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema must be an object"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}, "json_schema.name must be"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "t"}}}, "json_schema.schema must be"),
        ({"tools": [{"type": "function"}]}, r"tools\[0\].function must be an object"),
        ({"tools": [{"type": "function", "function": {}}]}, r"tools\[0\].function.name must be a string"),
    ],
)
def test_what_the_protocol_does_not_allow_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        WIRE.read(received(WIRE, sound_body(WIRE, **change)))


@pytest.mark.parametrize("strict", [{}, {"strict": False}, {"strict": None}])
def test_a_schema_that_is_not_enforced_is_not_strict(strict: dict[str, Any]) -> None:
    form = {"name": "tree", "schema": SCHEMA, **strict}
    body = sound_body(WIRE, response_format={"type": "json_schema", "json_schema": form})
    assert WIRE.read(received(WIRE, body)).output == "schema"


def test_system_and_developer_texts_stand_apart_from_the_turns() -> None:
    messages = [{"role": role, "content": role} for role in ("system", "user", "developer", "assistant", "user")]
    request = WIRE.read(received(WIRE, sound_body(WIRE, messages=messages)))
    assert request.system == ["system", "developer"]
    assert [turn.text for turn in request.turns] == ["user", "assistant", "user"]
