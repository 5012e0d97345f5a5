"""The responses wire against OpenAI's own SDK: what the wire sends the SDK takes, what the SDK sends the wire reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import openai
import pytest

from tests.conformance.loopback import run
from tests.conformance.support.openai_sdk import Call, connected, require_raised
from tests.conformance.test_wires import CALL, body_of, received, sound_body
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
from treelang_conformance.wires.openai_responses import OpenAIResponsesWire

WIRE = OpenAIResponsesWire()
INPUT: list[Any] = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Which tree?"}]


async def complete(provider: Provider, **arguments: Any) -> Any:
    async with connected(provider) as client:
        return await client.responses.create(**{"model": WIRE.model, "input": INPUT, **arguments})


async def stream(provider: Provider, **arguments: Any) -> list[Any]:
    async with connected(provider) as client:
        events = await client.responses.create(**{"model": WIRE.model, "input": INPUT, "stream": True, **arguments})
        async with events:
            return [event async for event in events]


def completed(answer: Answer) -> Any:
    with Provider() as provider:
        provider.reply(WIRE.completion(answer))
        return run(complete(provider))


def streamed(events: Sequence[Event]) -> list[Any]:
    with Provider() as provider:
        provider.reply(Reply.event_stream(*(Send(event.data) for event in events)))
        return run(stream(provider))


def text_of(events: list[Any]) -> str:
    return "".join(event.delta or "" for event in events if event.type == "response.output_text.delta")


def test_the_sdk_reads_text_usage_and_status_of_a_completion() -> None:
    response = completed(Answer.of("A ", "redwood.", usage=Usage(20, 9, cached_tokens=4, reasoning_tokens=3)))
    assert (response.output_text, response.status, response.model) == ("A redwood.", "completed", WIRE.model)
    assert (response.error, response.incomplete_details) == (None, None)
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (20, 9, 29)
    assert response.usage.input_tokens_details.cached_tokens == 4
    assert response.usage.output_tokens_details.reasoning_tokens == 3


def test_the_sdk_reads_every_event_of_a_stream_in_its_own_class() -> None:
    events = streamed(WIRE.events(Answer.of("A ", "redwood.", usage=Usage(20, 9))))
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(10))
    assert {type(event).__name__ for event in events if event.type.endswith("delta")} == {"ResponseTextDeltaEvent"}
    assert text_of(events) == events[6].text == events[-1].response.output_text == "A redwood."


def test_the_sdks_own_accumulator_takes_a_stream() -> None:
    answer = Answer((Thinking("Hm."), Text(("A ", "red")), Text(("wood.",))), usage=Usage(20, 9))

    async def accumulate(provider: Provider) -> Any:
        async with connected(provider) as client, client.responses.stream(model=WIRE.model, input=INPUT) as events:
            return await events.get_final_response()

    with Provider() as provider:
        provider.reply(Reply.event_stream(*(Send(event.data) for event in WIRE.events(answer))))
        response = run(accumulate(provider))
    assert (response.output_text, response.usage.output_tokens) == ("A redwood.", 9)


def test_usage_stands_in_the_last_event_alone() -> None:
    events = streamed(WIRE.events(Answer.of("A ", "redwood.", usage=Usage(20, 9))))
    told = [event.response.usage for event in events if hasattr(event, "response")]
    assert [usage and (usage.input_tokens, usage.output_tokens) for usage in told] == [None, None, (20, 9)]


@pytest.mark.parametrize(
    ("finish", "status", "reason", "ending"),
    [
        (Finish.STOP, "completed", None, "response.completed"),
        (Finish.LENGTH, "incomplete", "max_output_tokens", "response.incomplete"),
        (Finish.CONTENT_FILTER, "incomplete", "content_filter", "response.incomplete"),
        (Finish.TOOL_CALLS, "completed", None, "response.completed"),
        (Finish.REFUSAL, "completed", None, "response.completed"),
        (Finish.FAILED, "failed", None, "response.failed"),
        (Finish.UNKNOWN, "x_unheard_of", None, "response.incomplete"),
        (Finish.ABSENT, None, None, "response.incomplete"),
    ],
)
def test_a_finish_has_a_status_a_reason_and_an_event(
    finish: Finish, status: str | None, reason: str | None, ending: str
) -> None:
    answer = Answer.of("A redwood.", finish=finish)
    event = streamed(WIRE.events(answer))[-1]
    assert event.type == ending
    for response in (completed(answer), event.response):
        assert response.status == status
        assert (response.incomplete_details and response.incomplete_details.reason) == reason
        assert (response.error is not None) == (finish is Finish.FAILED)
        assert response.output_text == "A redwood."


@pytest.mark.parametrize("finish", sorted(WIRE.finishes - {Finish.STOP}))
def test_nothing_but_a_stop_looks_like_one(finish: Finish) -> None:
    told = body_of(WIRE.completion(Answer.of("A redwood.", finish=finish)))
    whole = body_of(WIRE.completion(Answer.of("A redwood.")))
    assert {name for name in whole if told[name] != whole[name]} & {"status", "output"}


@pytest.mark.parametrize("answer", [Answer((Refusal("I can't."),)), Answer((), Finish.REFUSAL)])
def test_a_refusal_is_a_part_of_the_message(answer: Answer) -> None:
    [message] = completed(answer).output
    [part] = message.content
    assert part.type == "refusal"
    assert part.refusal.startswith("I")
    events = streamed(WIRE.events(answer))
    assert "".join(event.delta for event in events if event.type == "response.refusal.delta") == part.refusal
    assert text_of(events) == ""


def test_a_tool_call_is_an_item() -> None:
    answer = Answer((Text(("Let me measure.",)), CALL, CALL), Finish.TOOL_CALLS)
    message, *calls = completed(answer).output
    assert message.content[0].text == "Let me measure."
    assert [(call.type, call.name, call.arguments) for call in calls] == [
        ("function_call", CALL.name, CALL.arguments)
    ] * 2
    assert len({call.call_id for call in calls}) == 2
    events = streamed(WIRE.events(answer))
    added = [event.item for event in events if event.type == "response.output_item.added"]
    assert [(item.type, getattr(item, "arguments", None)) for item in added[1:]] == [("function_call", "")] * 2
    pieces = [event for event in events if event.type == "response.function_call_arguments.delta"]
    assert [piece.output_index for piece in pieces] == [1, 2]
    assert "".join(piece.delta for piece in pieces) == CALL.arguments * 2


def test_texts_side_by_side_are_parts_of_one_message() -> None:
    answer = Answer((Text(("The ",)), UnknownBlock(), Text(("tallest", " tree"))))
    response = completed(answer)
    [message] = response.output
    assert [part.type for part in message.content] == ["output_text", "x_unheard_of", "output_text"]
    assert response.output_text == "The tallest tree"
    events = streamed(WIRE.events(answer))
    assert text_of(events) == "The tallest tree"
    assert [event.content_index for event in events if event.type == "response.content_part.done"] == [0, 1, 2]


def test_other_items_stand_between_messages() -> None:
    answer = Answer((UnknownBlock(), Thinking("Hm."), Text(("A ",)), ServerToolCall(), Text(("redwood.",))))
    response = completed(answer)
    kinds = ["x_unheard_of", "reasoning", "message", "web_search_call", "message"]
    assert [item.type for item in response.output] == kinds
    assert response.output_text == "A redwood."
    events = streamed(WIRE.events(answer))
    assert text_of(events) == "A redwood."
    done = [event for event in events if event.type == "response.output_item.done"]
    assert [event.item.type for event in done] == kinds
    assert [event.output_index for event in done] == [0, 1, 2, 3, 4]
    assert len({event.item.id for event in done}) == 5


@pytest.mark.parametrize("name", [name for name in WIRE.silent_events() if name != "retry-line"])
def test_a_silent_event_changes_nothing(name: str) -> None:
    # The SDK fails on a retry line (openai-python#2722), although the SSE standard knows it.
    events = list(WIRE.events(Answer.of("A ", "redwood.")))
    events.insert(5, WIRE.silent_events()[name])
    got = streamed(events)
    deltas = [getattr(event, "delta", None) for event in got if event.type == "response.output_text.delta"]
    assert "".join(delta or "" for delta in deltas) == "A redwood."
    assert got[-1].response.usage.output_tokens == 7


@pytest.mark.parametrize("failure", [*WIRE.failures().values(), *WIRE.rejections().values()])
@pytest.mark.parametrize("call", [complete, stream])
def test_the_sdk_raises_for_an_error(call: Call, failure: Failure) -> None:
    require_raised(WIRE, failure, call)


RATE_LIMIT = WIRE.failures()["rate-limit"]


@pytest.mark.parametrize("form", ["nested-event", "envelope"])
def test_the_sdk_raises_for_an_envelope_inside_a_stream(form: str) -> None:
    event = WIRE.error_events(RATE_LIMIT)[form]
    assert event.kind is EventKind.ERROR
    with pytest.raises(openai.APIError) as caught:
        streamed([*WIRE.events(Answer.of("A "))[:2], event])
    assert caught.value.code == "rate_limit_exceeded"


def test_the_sdk_yields_the_other_errors_inside_a_stream() -> None:
    forms = WIRE.error_events(RATE_LIMIT)
    flat, failed = streamed([forms["flat-event"], forms["failed-response"]])
    assert (type(flat).__name__, flat.code, flat.message) == (
        "ResponseErrorEvent",
        "rate_limit_exceeded",
        RATE_LIMIT.message,
    )
    assert (failed.type, failed.response.status) == ("response.failed", "failed")
    assert failed.response.error.code == "rate_limit_exceeded"


def test_a_failed_response_stands_in_place_of_a_completion() -> None:
    with Provider() as provider:
        provider.reply(WIRE.in_band_errors(RATE_LIMIT)["failed-response"])
        response = run(complete(provider))
    assert (response.status, response.error.code, response.output) == ("failed", "rate_limit_exceeded", [])


def test_an_error_in_band_has_a_code_even_where_the_failure_has_none() -> None:
    failure = Failure(500, "The words.")
    assert body_of(WIRE.in_band_errors(failure)["failed-response"])["error"]["code"] == "server_error"
    flat = WIRE.error_events(failure)["flat-event"].data
    assert json.loads(flat.partition(b"data: ")[2])["code"] == "server_error"


SCHEMA = {"type": "object", "properties": {"tree": {"type": "string"}}, "additionalProperties": False}
FUNCTION = {"name": "measure", "description": "Measure a tree.", "parameters": SCHEMA, "strict": False}


def test_what_the_sdk_sends_is_read() -> None:
    with Provider() as provider:
        provider.reply(*[WIRE.completion(Answer.of("A redwood."))] * 2)
        run(
            complete(
                provider,
                temperature=0.5,
                max_output_tokens=16,
                instructions="Be kind.",
                tools=[{"type": "function", **FUNCTION}],
                text={"format": {"type": "json_schema", "name": "tree", "strict": True, "schema": SCHEMA}},
            )
        )
        run(complete(provider, input="Answer in JSON.", text={"format": {"type": "json_object"}}))
        full, other = (WIRE.read(request) for request in provider.requests)
    assert (full.model, full.system) == (WIRE.model, ["Be kind.", "Be short."])
    assert full.turns == [ReadMessage("user", "Which tree?")]
    assert (full.stream, full.temperature, full.max_tokens) == (False, 0.5, 16)
    assert full.tools == [ReadTool("measure", "Measure a tree.", SCHEMA)]
    assert (full.output, full.schema_name, full.schema) == ("strict", "tree", SCHEMA)
    assert other.turns == [ReadMessage("user", "Answer in JSON.")]
    assert (other.output, other.system, other.tools, other.schema) == ("json", [], None, None)


def test_a_stream_reports_usage_unasked() -> None:
    with Provider() as provider:
        provider.answer_by(lambda _: Reply.event_stream(*(Send(e.data) for e in WIRE.events(Answer.of("x")))))
        run(stream(provider))
        run(stream(provider, stream_options={"include_obfuscation": False}))
        read = [WIRE.read(request) for request in provider.requests]
    assert [(request.stream, request.asks_usage) for request in read] == [(True, True)] * 2


def test_turns_of_the_model_are_parts_of_output_text() -> None:
    turns = [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "Which "}, {"type": "input_text", "text": "tree?"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A redwood."}]},
    ]
    request = WIRE.read(received(WIRE, sound_body(WIRE, messages=turns)))
    assert request.turns == [ReadMessage("user", "Which tree?"), ReadMessage("assistant", "A redwood.")]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"response_format": {"type": "json_object"}}, "response_format is not .*; the parameter is text.format"),
        ({"max_completion_tokens": 5}, "max_completion_tokens is not .*; the parameter is max_output_tokens"),
        ({"stream_options": {"include_usage": True}}, "stream_options.include_usage is not of this protocol"),
        ({"messages": [{"type": "item_reference", "id": "x"}]}, r"input\[0\].type must be message or missing"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}, "must be a text part"),
        ({"instructions": ["Be kind."]}, "instructions must be a string, not an array"),
        ({"text": "json"}, "text must be an object, not a string"),
        ({"text": {"format": {"type": "tree"}}}, "text.format.type must be"),
        ({"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name must be a string"),
        ({"text": {"format": {"type": "json_schema", "name": "t"}}}, "text.format.schema must be an object"),
        ({"text": {"format": {"type": "json_object"}}}, "input must contain the word 'json'"),
        ({"tools": [{"type": "function", "function": FUNCTION}]}, r"tools\[0\].name must be a string"),
    ],
)
def test_what_the_protocol_does_not_allow_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        WIRE.read(received(WIRE, sound_body(WIRE, **change)))


def test_json_asked_for_in_the_instructions_alone_is_not_asked_for() -> None:
    body = sound_body(WIRE, instructions="Answer in JSON.", text={"format": {"type": "json_object"}})
    with pytest.raises(ValueError, match="input must contain the word 'json'"):
        WIRE.read(received(WIRE, body))


@pytest.mark.parametrize("strict", [{}, {"strict": False}, {"strict": None}])
def test_a_schema_that_is_not_enforced_is_not_strict(strict: dict[str, Any]) -> None:
    body = sound_body(WIRE, text={"format": {"type": "json_schema", "name": "tree", "schema": SCHEMA, **strict}})
    assert WIRE.read(received(WIRE, body)).output == "schema"


@pytest.mark.parametrize("text", [{}, {"format": {"type": "text"}}, {"verbosity": "low"}])
def test_text_is_what_is_asked_for_where_nothing_else_is(text: dict[str, Any]) -> None:
    assert WIRE.read(received(WIRE, sound_body(WIRE, text=text))).output == "text"


def test_system_and_developer_texts_stand_apart_from_the_turns() -> None:
    messages = [{"role": role, "content": role} for role in ("system", "user", "developer", "assistant", "user")]
    request = WIRE.read(received(WIRE, sound_body(WIRE, messages=messages, instructions="instructions")))
    assert request.system == ["instructions", "system", "developer"]
    assert [turn.text for turn in request.turns] == ["user", "assistant", "user"]
