"""The wire `ndjson`: what a provider of this chat protocol sends and receives, for the conformance kit.

`POST /chat` with `{"model", "messages", "stream", ...}` is answered by `{"text", "done", "usage"}`. A stream has one
JSON object a line, and the line with `done` is its last.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treelang_conformance.json_text import encode_json
from treelang_conformance.neutral import (
    Answer,
    Failure,
    Finish,
    RawUsage,
    ReadMessage,
    ReadRequest,
    ReadTool,
    Refusal,
    ServerToolCall,
    Text,
    Thinking,
    ToolCall,
    UnknownBlock,
    Usage,
)
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import Reply
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.reading import (
    as_boolean,
    as_integer,
    as_number,
    as_object,
    as_some_items,
    as_string,
    optional,
    optional_items,
    read_body,
)
from treelang_conformance.wires.unusable import altered, encode_bodies

DONE: Mapping[Finish, str | None] = {
    Finish.STOP: "stop",
    Finish.LENGTH: "length",
    Finish.TOOL_CALLS: "calls",
    Finish.UNKNOWN: "x_unheard_of",
    Finish.ABSENT: None,
}
CODES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 429: "too_many_requests", 500: "failed"}


class NDJSONWire:
    """A chat protocol of one JSON object a line."""

    name = "ndjson"
    base_path = ""
    model = "oak-1"
    stream_type = "application/x-ndjson"
    finishes = frozenset(DONE)
    completion_sign = EventKind.TERMINAL
    highest_temperature = 2.0
    has_json_mode = False
    output_members = (("format",),)
    has_running_usage = False

    def completion(self, answer: Answer) -> Reply:
        """One JSON object with everything."""
        return Reply.json(_completion(answer))

    def events(self, answer: Answer) -> Sequence[Event]:
        """A line for each piece of the answer, and one with `done` and the usage."""
        if answer.running:
            raise ValueError("ndjson has no running totals")
        lines = [_line(EventKind.TEXT if text else EventKind.SILENT, part, text) for part, text in _parts(answer)]
        return [*lines, _line(EventKind.TERMINAL, _end(answer))]

    def error(self, failure: Failure) -> Reply:
        """A failing response, `{"error": {"code", "message"}}`."""
        return Reply.json(_envelope(failure), status=failure.status, headers=failure.headers)

    def in_band_errors(self, failure: Failure) -> Mapping[str, Reply]:
        """The same object in place of an answer."""
        return {"object": dataclasses.replace(self.error(failure), status=200)}

    def error_events(self, failure: Failure) -> Mapping[str, Event]:
        """The same object as a line."""
        return {"line": _line(EventKind.ERROR, _envelope(failure))}

    def silent_events(self) -> Mapping[str, Event]:
        """Empty lines, and objects without text."""
        objects = {
            "empty-object": {},
            "empty-text": {"text": ""},
            "null-text": {"text": None},
            "null-error": {"text": None, "error": None},
            "no-calls": {"calls": []},
            "thinking": {"thinking": "Let me think."},
            "unknown": {"x_unheard_of": {"text": "not an answer"}},
        }
        lines = {name: _line(EventKind.SILENT, value) for name, value in objects.items()}
        return {"blank-line": Event(EventKind.KEEP_ALIVE, b"\n"), **lines}

    def unusable_bodies(self) -> Mapping[str, bytes]:
        """Objects with no text, or with something else where the text stands."""
        sound = _completion(Answer.of("A redwood."))
        odd = {"null": None, "empty": "", "number": 5, "list": ["A redwood."], "object": {"text": "A redwood."}}
        wrong = {f"{name}-text": altered(sound, "text", value=value) for name, value in odd.items()}
        return encode_bodies(sound, {**wrong, "missing-text": altered(sound, "text", remove=True)})

    def rejections(self) -> Mapping[str, Failure]:
        """A schema that the provider cannot enforce."""
        return {"schema": Failure(422, "The schema is recursive and cannot be enforced.", code="invalid_json_schema")}

    def look_alikes(self) -> Mapping[str, Failure]:
        """Bad requests about something else that has a schema, or about a format that was quoted."""
        return {
            "tool-schema": Failure(422, "The schema of a tool cannot be read.", code="invalid_tool"),
            "quoted": Failure(400, "Not a message: 'invalid_json_schema: cannot be enforced'.", code="bad_request"),
        }

    def failures(self) -> Mapping[str, Failure]:
        """One failure of each kind that is told apart under a successful status."""
        return {
            "authentication": Failure(401, "Who are you?", code=CODES[401]),
            "permission": Failure(403, "Not for you.", code=CODES[403]),
            "rate-limit": Failure(429, "Not so fast.", code=CODES[429]),
            "other": Failure(500, "The oak has fallen.", code=CODES[500]),
        }

    def read(self, request: RecordedRequest) -> ReadRequest:
        """Translate a received request; raises `ValueError` saying what is not of this protocol."""
        body = read_body(request, "/chat")
        messages = as_some_items(body.get("messages"), "messages", _read_message)
        form = optional(body, "format", as_object)
        return ReadRequest(
            model=as_string(body.get("model"), "model"),
            system=[message.text for message in messages if message.role == "system"],
            turns=[message for message in messages if message.role != "system"],
            stream=optional(body, "stream", as_boolean) or False,
            temperature=optional(body, "temperature", as_number),
            max_tokens=optional(body, "max_tokens", as_integer),
            tools=optional_items(body, "tools", _read_tool),
            output="text" if form is None else "strict",
            schema=None if form is None else as_object(form.get("schema"), "format.schema"),
            schema_name=None if form is None else as_string(form.get("name"), "format.name"),
        )


def _completion(answer: Answer) -> dict[str, Any]:
    body: dict[str, Any] = {"text": answer.text}
    for part, text in _parts(answer):
        if not text:
            body.update(part)
    return {**body, **_end(answer)}


def _parts(answer: Answer) -> Iterator[tuple[dict[str, Any], str]]:
    """What the answer consists of, as lines, with the text that each adds."""
    for block in answer.blocks:
        match block:
            case Text():
                yield from (({"text": piece}, piece) for piece in block.pieces if piece)
            case Thinking():
                yield {"thinking": block.text}, ""
            case ToolCall():
                yield {"calls": [{"name": block.name, "arguments": block.arguments}]}, ""
            case ServerToolCall():
                yield {"searched": "trees"}, ""
            case Refusal():
                yield {"refusal": block.text}, ""
            case UnknownBlock():
                yield {"x_unheard_of": {"text": "not an answer"}}, ""


def _end(answer: Answer) -> dict[str, Any]:
    if answer.finish not in DONE:
        raise ValueError(f"ndjson has no word for the finish {answer.finish.value!r}")
    done = {"done": DONE[answer.finish]}
    return done if answer.usage is None else {**done, "usage": _usage(answer.usage)}


def _usage(usage: Usage | RawUsage) -> Any:
    if isinstance(usage, RawUsage):
        return usage.value
    return {"input": usage.prompt_tokens, "output": usage.completion_tokens, "cached": usage.cached_tokens}


def _envelope(failure: Failure) -> Any:
    code = failure.code or failure.type or CODES.get(failure.status, CODES[500])
    return failure.body or {"error": {"code": code, "message": failure.message}}


def _line(kind: EventKind, value: Any, text: str = "") -> Event:
    return Event(kind, f"{encode_json(value)}\n".encode(), text)


def _read_message(value: Any, where: str) -> ReadMessage:
    message = as_object(value, where)
    role = as_string(message.get("role"), f"{where}.role")
    if role not in {"system", "user", "assistant"}:
        raise ValueError(f"{where}.role must be system, user or assistant, not {role!r}")
    return ReadMessage(role, as_string(message.get("content"), f"{where}.content"))


def _read_tool(value: Any, where: str) -> ReadTool:
    tool = as_object(value, where)
    name = as_string(tool.get("name"), f"{where}.name")
    return ReadTool(name, optional(tool, "description", as_string, where), tool.get("parameters"))
