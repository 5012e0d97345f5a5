"""What every wire keeps to, whatever its protocol."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from treelang_conformance.neutral import (
    Answer,
    Failure,
    Finish,
    RawUsage,
    Refusal,
    ServerToolCall,
    Text,
    Thinking,
    ToolCall,
    UnknownBlock,
    Usage,
)
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import Reply, Send
from treelang_conformance.wires.anthropic_messages import AnthropicMessagesWire
from treelang_conformance.wires.base import EventKind, Wire
from treelang_conformance.wires.openai_chat import OpenAIChatWire
from treelang_conformance.wires.openai_responses import OpenAIResponsesWire

WIRES: list[Wire] = [OpenAIChatWire(), OpenAIResponsesWire(), AnthropicMessagesWire()]

CALL = ToolCall("measure", '{"tree": "redwood"}')

ANSWERS = {
    "one-piece": Answer.of("A redwood."),
    "pieces": Answer.of("A ", "red", "", "wood \U0001f332."),
    "half-a-surrogate-pair": Answer.of("\ud83c", "\udf32"),
    "several-texts": Answer((Text(("The ",)), Text(("tallest", " tree")))),
    "all-sorts": Answer(
        (Thinking("Hm."), Text(("A ",)), ServerToolCall(), UnknownBlock(), Text(("redwood.",)), CALL), Finish.TOOL_CALLS
    ),
    "refusal": Answer((Refusal("I can't."),)),
    "nothing": Answer(()),
    "no-usage": Answer.of("A redwood.", usage=None),
}
RUNNING_TOTALS = Answer.of("A ", "redwood.", running=(Usage(11, 1), Usage(11, 4)))


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest) -> Wire:
    found: Wire = request.param
    return found


def body_of(reply: Reply) -> Any:
    [step] = reply.body
    assert isinstance(step, Send)
    return json.loads(step.data)


def test_it_is_a_wire(wire: Wire) -> None:
    assert isinstance(wire, Wire)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_the_events_of_an_answer_add_up_to_its_text_and_end_with_the_terminal_one(wire: Wire, answer: Answer) -> None:
    events = wire.events(answer)
    assert "".join(event.text for event in events) == answer.text
    assert [event.kind for event in events].index(EventKind.TERMINAL) == len(events) - 1
    assert all((event.kind is EventKind.TEXT) == bool(event.text) for event in events)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_every_event_is_whole(wire: Wire, answer: Answer) -> None:
    failures = wire.error_events(Failure(500)).values()
    for event in itertools.chain(wire.events(answer), wire.silent_events().values(), failures):
        assert event.data.decode().endswith("\n")
        assert event.data.strip() == b"" or event.data.count(b"\n\n") == 1
        assert event.data.endswith(b"\n\n") or event.data == b"\n"


@pytest.mark.parametrize("finish", Finish)
def test_a_finish_is_either_expressed_or_refused_by_name(wire: Wire, finish: Finish) -> None:
    answer = Answer.of("A redwood.", finish=finish)
    if finish in wire.finishes:
        body_of(wire.completion(answer))
        assert wire.events(answer)[-1].kind is EventKind.TERMINAL
        return
    with pytest.raises(ValueError, match=finish.value):
        wire.completion(answer)
    with pytest.raises(ValueError, match=finish.value):
        wire.events(answer)


def test_running_totals_are_either_expressed_or_refused(wire: Wire) -> None:
    if wire.has_running_usage:
        assert sum(b"_tokens" in event.data for event in wire.events(RUNNING_TOTALS)) == 3
        return
    with pytest.raises(ValueError, match="running totals"):
        wire.events(RUNNING_TOTALS)


@pytest.mark.parametrize("value", [None, [], "11", {}, {"odd": True}, 5])
def test_raw_usage_stands_where_usage_stands(wire: Wire, value: Any) -> None:
    answer = Answer.of("A redwood.", usage=RawUsage(value))
    assert body_of(wire.completion(answer))["usage"] == value
    reported = b'"usage":' + json.dumps(value, separators=(",", ":")).encode()
    assert any(reported in event.data for event in wire.events(answer)[-3:])


def test_usage_that_is_missing_is_nowhere(wire: Wire) -> None:
    answer = Answer.of("A redwood.", usage=None)
    assert "usage" not in body_of(wire.completion(answer))
    assert not any(event.kind is EventKind.USAGE for event in wire.events(answer))
    counters = re.compile(rb'"(prompt|completion|input|output)_tokens"')
    assert not any(counters.search(event.data) for event in wire.events(answer))


def test_silent_events_carry_no_text(wire: Wire) -> None:
    for event in wire.silent_events().values():
        assert event.text == ""
        assert event.kind in {EventKind.SILENT, EventKind.KEEP_ALIVE}


def test_unusable_bodies_are_json_and_report_no_error(wire: Wire) -> None:
    bodies = wire.unusable_bodies()
    decoded = [json.loads(body) for body in bodies.values()]
    assert not any(isinstance(body, dict) and (body.get("error") or body.get("type") == "error") for body in decoded)
    assert len(set(bodies.values())) == len(bodies), "two names for one body"
    assert wire.completion(Answer.of("A redwood.")).body[0] not in [Send(body) for body in bodies.values()]


def test_rejections_come_with_a_status_that_can_be_one(wire: Wire) -> None:
    assert {failure.status for failure in wire.rejections().values()} == {400, 422}


def test_no_failure_is_both_a_rejection_and_a_look_alike(wire: Wire) -> None:
    def words(failures: Any) -> set[tuple[int, str]]:
        return {(failure.status, json.dumps(body_of(wire.error(failure)))) for failure in failures.values()}

    assert len(words(wire.rejections())) == len(wire.rejections())
    assert len(words(wire.look_alikes())) == len(wire.look_alikes())
    assert words(wire.rejections()) & words(wire.look_alikes()) == set()


def test_there_is_a_failure_of_each_in_band_kind(wire: Wire) -> None:
    assert {name: failure.status for name, failure in wire.failures().items() if name != "other"} == {
        "authentication": 401,
        "permission": 403,
        "rate-limit": 429,
    }
    assert wire.failures()["other"].status >= 500


@pytest.mark.parametrize("body", [{"detail": "no"}, "no", [], {"error": "no"}])
def test_a_failure_can_replace_the_envelope(wire: Wire, body: Any) -> None:
    failure = Failure(418, headers={"retry-after": "3"}, body=body)
    reply = wire.error(failure)
    assert (reply.status, reply.headers["retry-after"], body_of(reply)) == (418, "3", body)
    reported = {body_of(reply) == body and reply.status == 200 for reply in wire.in_band_errors(failure).values()}
    assert reported == {True}
    told = json.dumps(body, separators=(",", ":")).encode()
    assert all(told in event.data for event in wire.error_events(failure).values())


def test_an_error_has_the_words_of_the_failure(wire: Wire) -> None:
    failure = Failure(409, "The words.", "the_type")
    error = body_of(wire.error(failure))["error"]
    assert (error["message"], error["type"]) == ("The words.", "the_type")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 413, 418, 422, 429, 500, 503, 529])
def test_an_error_has_a_type_even_where_the_failure_has_none(wire: Wire, status: int) -> None:
    assert body_of(wire.error(Failure(status)))["error"]["type"].replace("_", "").isalpha()


_PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic-messages": "/v1/messages",
}
_NAMES = {"openai-responses": {"messages": "input", "max_tokens": "max_output_tokens"}}
"""What a wire calls the fields that have other names elsewhere."""
_TEXT_TYPES = {"openai-responses": "input_text"}
_GOOD_HEADERS = {"content-type": "application/json; charset=utf-8", "anthropic-version": "2023-06-01"}


def received(
    wire: Wire, body: Any, *, method: str = "POST", path: str | None = None, headers: Mapping[str, str] = _GOOD_HEADERS
) -> RecordedRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RecordedRequest(0, method, path or _PATHS[wire.name], headers, data)


def sound_body(wire: Wire, **changes: Any) -> dict[str, Any]:
    sound = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hello"}]} | changes
    names = _NAMES.get(wire.name, {})
    return {names.get(name, name): value for name, value in sound.items()}


def test_a_sound_request_is_read(wire: Wire) -> None:
    request = wire.read(received(wire, sound_body(wire)))
    assert [(turn.role, turn.text) for turn in request.turns] == [("user", "Hello")]
    assert (request.model, request.max_tokens, request.stream, request.output) == ("m", 5, False, "text")
    assert (request.temperature, request.tools, request.schema) == (None, None, None)
    assert request.asks_usage


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"method": "GET"}, "expected POST"),
        ({"path": "/v1/other"}, "not POST /v1/other"),
        ({"headers": {}}, "content type must be application/json, not missing"),
        ({"headers": _GOOD_HEADERS | {"content-type": "text/plain"}}, "not text/plain"),
    ],
)
def test_a_request_to_another_place_is_not_read(wire: Wire, change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        wire.read(received(wire, sound_body(wire), **change))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b'{"temperature": NaN}', "NaN is not JSON"),
        ([], "the body must be an object, not an array"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(wire: Wire, body: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        wire.read(received(wire, body))


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("model", None, "model must be a string, not missing or null"),
        ("messages", 5, "messages must be an array, not a number"),
        ("messages", [], "messages must not be empty"),
        ("messages", ["Hello"], "messages[0] must be an object, not a string"),
        ("messages", [{"role": "tree", "content": "Hello"}], "messages[0].role must be"),
        ("messages", [{"role": "user"}], "messages[0].content must be a string or an array of text parts"),
        ("messages", [{"role": "user", "content": [{"type": "image"}]}], "content[0] must be a text part"),
        ("stream", "yes", "stream must be a boolean, not a string"),
        ("temperature", True, "temperature must be a number, not a boolean"),
        ("temperature", None, "temperature must be a number, not missing or null"),
        ("max_tokens", 1.5, "max_tokens must be an integer, not a number"),
        ("tools", {}, "tools must be an array, not an object"),
        ("tools", [{"type": "tree"}], "tools[0].type must be"),
    ],
)
def test_a_request_that_is_not_of_the_protocol_is_refused_with_the_place(
    wire: Wire, field: str, value: Any, complaint: str
) -> None:
    complaint = complaint.replace(field, _NAMES.get(wire.name, {}).get(field, field))
    with pytest.raises(ValueError, match=re.escape(complaint)):
        wire.read(received(wire, sound_body(wire, **{field: value})))


def test_text_parts_are_joined(wire: Wire) -> None:
    type_ = _TEXT_TYPES.get(wire.name, "text")
    parts = [{"type": type_, "text": "Hel"}, {"type": type_, "text": "lo"}]
    request = wire.read(received(wire, sound_body(wire, messages=[{"role": "user", "content": parts}])))
    assert request.turns[0].text == "Hello"
