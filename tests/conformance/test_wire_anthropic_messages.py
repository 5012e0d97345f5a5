"""The messages wire against Anthropic's own SDK: what the wire sends the SDK takes, and the other way round."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import pytest

from tests.conformance.loopback import TLS_CONTEXT, run
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
from treelang_conformance.wires.anthropic_messages import AnthropicMessagesWire
from treelang_conformance.wires.base import Event, EventKind

WIRE = AnthropicMessagesWire()
MESSAGES: list[Any] = [{"role": "user", "content": "Which tree?"}]


@asynccontextmanager
async def connected(provider: Provider) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(
        api_key="sk-test",
        base_url=provider.url + WIRE.base_path,
        max_retries=0,
        http_client=anthropic.DefaultAsyncHttpxClient(verify=TLS_CONTEXT),
    ) as client:
        yield client


async def complete(provider: Provider, **arguments: Any) -> Any:
    async with connected(provider) as client:
        return await client.messages.create(model=WIRE.model, messages=MESSAGES, max_tokens=9, **arguments)


async def stream(provider: Provider, **arguments: Any) -> list[Any]:
    async with connected(provider) as client:
        events = await client.messages.create(
            model=WIRE.model, messages=MESSAGES, max_tokens=9, stream=True, **arguments
        )
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
    deltas: list[Any] = [getattr(event, "delta", None) for event in of_type(events, "content_block_delta")]
    return "".join(delta.text or "" for delta in deltas if getattr(delta, "type", None) == "text_delta")


def of_type(events: list[Any], kind: str) -> list[Any]:
    return [event for event in events if event.type == kind]


def test_the_sdk_reads_text_usage_and_finish_of_a_completion() -> None:
    usage = Usage(20, 9, cached_tokens=4, reasoning_tokens=3, server_tool_requests=2)
    message = completed(Answer.of("A ", "redwood.", usage=usage))
    assert [block.text for block in message.content] == ["A redwood."]
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (20, 9)
    assert message.usage.cache_read_input_tokens == 4
    assert message.usage.server_tool_use.web_search_requests == 2


def test_the_sdk_reads_text_usage_and_finish_of_a_stream() -> None:
    events = streamed(WIRE.events(Answer.of("A ", "redwood.", usage=Usage(20, 9))))
    assert text_of(events) == "A redwood."
    [start] = of_type(events, "message_start")
    assert (start.message.usage.input_tokens, start.message.usage.output_tokens) == (20, 1)
    [delta] = of_type(events, "message_delta")
    assert (delta.delta.stop_reason, delta.usage.output_tokens) == ("end_turn", 9)
    assert events[-1].type == "message_stop"


def test_the_sdks_accumulating_helper_agrees() -> None:
    answer = Answer((Thinking("Hm."), Text(("A ", "red")), UnknownBlock(), Text(("wood.",)), CALL), Finish.TOOL_CALLS)

    async def accumulate(provider: Provider) -> Any:
        async with (
            connected(provider) as client,
            client.messages.stream(model=WIRE.model, messages=MESSAGES, max_tokens=9) as helper,
        ):
            return await helper.get_final_message()

    with Provider() as provider:
        provider.reply(Reply.event_stream(*(Send(event.data) for event in WIRE.events(answer))))
        message = run(accumulate(provider))
    assert [block.type for block in message.content] == ["thinking", "text", "x_unheard_of", "text", "tool_use"]
    assert message.content[0].thinking == "Hm."
    assert message.content[1].text + message.content[3].text == "A redwood."
    assert message.content[4].input == {"tree": "redwood"}
    assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 7)


def test_running_totals_begin_with_the_message_and_go_on_before_its_end() -> None:
    answer = Answer.of("A redwood.", running=(Usage(18, 2), Usage(None, 5)), usage=Usage(20, 9))
    events = streamed(WIRE.events(answer))
    [start] = of_type(events, "message_start")
    assert (start.message.usage.input_tokens, start.message.usage.output_tokens) == (18, 2)
    deltas = of_type(events, "message_delta")
    assert [(delta.usage.input_tokens, delta.usage.output_tokens) for delta in deltas] == [(None, 5), (20, 9)]
    assert [delta.delta.stop_reason for delta in deltas] == [None, "end_turn"]


@pytest.mark.parametrize(
    ("finish", "word"),
    [
        (Finish.STOP, "end_turn"),
        (Finish.OTHER_STOP, "stop_sequence"),
        (Finish.LENGTH, "max_tokens"),
        (Finish.TOOL_CALLS, "tool_use"),
        (Finish.PAUSE, "pause_turn"),
        (Finish.CONTEXT_WINDOW, "model_context_window_exceeded"),
        (Finish.REFUSAL, "refusal"),
        (Finish.UNKNOWN, "x_unheard_of"),
        (Finish.ABSENT, None),
    ],
)
def test_a_finish_has_the_providers_word(finish: Finish, word: str | None) -> None:
    answer = Answer.of("A redwood.", finish=finish)
    assert completed(answer).stop_reason == word
    sent = WIRE.events(answer)
    assert [event.kind for event in sent].count(EventKind.FINISH) == (word is not None)
    assert [event.delta.stop_reason for event in of_type(streamed(sent), "message_delta")] == [word]


def test_a_refusal_is_a_stop_reason_and_no_block() -> None:
    answer = Answer((Refusal("I can't."),))
    message = completed(answer)
    assert (message.content, message.stop_reason) == ([], "refusal")
    assert message.stop_details.explanation == "I can't."
    [delta] = of_type(streamed(WIRE.events(answer)), "message_delta")
    assert delta.delta.stop_reason == "refusal"


def test_a_tool_call_is_whole() -> None:
    answer = Answer((Text(("Let me measure.",)), CALL), Finish.TOOL_CALLS)
    text, call = completed(answer).content
    assert (text.text, call.type, call.name, call.input) == (
        "Let me measure.",
        "tool_use",
        CALL.name,
        {"tree": "redwood"},
    )


def test_a_search_of_the_providers_own_leaves_a_call_and_a_result() -> None:
    answer = Answer((ServerToolCall(), Text(("A redwood.",))))
    message = completed(answer)
    assert [block.type for block in message.content] == ["server_tool_use", "web_search_tool_result", "text"]
    assert text_of(streamed(WIRE.events(answer))) == "A redwood."


@pytest.mark.parametrize("name", WIRE.silent_events())
def test_a_silent_event_changes_nothing(name: str) -> None:
    events = list(WIRE.events(Answer.of("A ", "redwood.")))
    first_text = [event.kind for event in events].index(EventKind.TEXT)
    events.insert(first_text + 1, WIRE.silent_events()[name])
    received_events = streamed(events)
    assert text_of(received_events) == "A redwood."
    assert of_type(received_events, "message_delta")[-1].usage.output_tokens == 7


@pytest.mark.parametrize("failure", [*WIRE.failures().values(), *WIRE.rejections().values()])
@pytest.mark.parametrize("call", [complete, stream])
def test_the_sdk_raises_for_an_error(call: Callable[[Provider], Awaitable[Any]], failure: Failure) -> None:
    async def fail(provider: Provider) -> None:
        await call(provider)

    with Provider() as provider:
        provider.reply(WIRE.error(failure))
        with pytest.raises(anthropic.APIStatusError) as caught:
            run(fail(provider))
    assert caught.value.status_code == failure.status
    assert caught.value.request_id == "req_conformance"
    body: Any = caught.value.body
    assert body["error"]["message"] == failure.message


def test_the_sdk_raises_for_an_error_inside_a_stream() -> None:
    events = [*WIRE.events(Answer.of("A "))[:4], *WIRE.error_events(WIRE.failures()["other"]).values()]
    assert events[-1].kind is EventKind.ERROR
    with pytest.raises(anthropic.APIStatusError) as caught:
        streamed(events)
    body: Any = caught.value.body
    assert body["error"] == {"type": "overloaded_error", "message": "Overloaded"}


SCHEMA = {"type": "object", "properties": {"tree": {"type": "string"}}, "additionalProperties": False}


def test_what_the_sdk_sends_is_read() -> None:
    with Provider() as provider:
        provider.reply(WIRE.completion(Answer.of("A redwood.")))
        run(
            complete(
                provider,
                system=[{"type": "text", "text": "Be short."}, {"type": "text", "text": "Be kind."}],
                tools=[{"name": "measure", "description": "Measure a tree.", "input_schema": SCHEMA}],
                # Fields by which the oldest and the newest SDK differ.
                extra_body={
                    "temperature": 0.5,
                    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
                },
            )
        )
        request = WIRE.read(provider.requests[0])
    assert (request.model, request.system) == (WIRE.model, ["Be short.", "Be kind."])
    assert request.turns == [ReadMessage("user", "Which tree?")]
    assert (request.stream, request.temperature, request.max_tokens) == (False, 0.5, 9)
    assert request.tools == [ReadTool("measure", "Measure a tree.", SCHEMA)]
    assert (request.output, request.schema_name, request.schema) == ("strict", None, SCHEMA)


def test_a_stream_needs_no_asking_for_usage() -> None:
    with Provider() as provider:
        provider.reply(Reply.event_stream(*(Send(event.data) for event in WIRE.events(Answer.of("x")))))
        run(stream(provider, system="Be short."))
        request = WIRE.read(provider.requests[0])
    assert (request.stream, request.asks_usage, request.system) == (True, True, ["Be short."])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"max_tokens": None}, "max_tokens must be an integer"),
        ({"messages": [{"role": "system", "content": "x"}]}, "not 'system'; system text has a field of its own"),
        ({"system": 5}, "system must be a string or an array of text parts"),
        ({"output_format": {}}, "output_format is deprecated"),
        ({"output_config": {"format": {"type": "json_object"}}}, "output_config.format.type must be json_schema"),
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema must be an object"),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {}, "name": "t"}}},
            "output_config.format.name: extra inputs are not permitted",
        ),
        ({"tools": [{"name": "t"}]}, r"tools\[0\].input_schema must be an object"),
    ],
)
def test_what_the_protocol_does_not_allow_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        WIRE.read(received(WIRE, sound_body(WIRE, **change)))


def test_the_version_header_is_required() -> None:
    with pytest.raises(ValueError, match="anthropic-version must be given"):
        WIRE.read(received(WIRE, sound_body(WIRE), headers={"content-type": "application/json"}))
