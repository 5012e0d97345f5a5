"""Answers in the messages form: the message object, and the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from treelang_conformance.neutral import (
    Answer,
    Block,
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
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.sse import encode_event

MODEL = "claude-sonnet-4-6"

FINISH_WORDS: Mapping[Finish, str | None] = {
    Finish.STOP: "end_turn",
    Finish.OTHER_STOP: "stop_sequence",
    Finish.LENGTH: "max_tokens",
    Finish.TOOL_CALLS: "tool_use",
    Finish.PAUSE: "pause_turn",
    Finish.CONTEXT_WINDOW: "model_context_window_exceeded",
    Finish.REFUSAL: "refusal",
    Finish.UNKNOWN: "x_unheard_of",
    Finish.ABSENT: None,
}

UNKNOWN_BLOCK = {"type": "x_unheard_of", "text": "not an answer"}

_SIGNATURE = "c2lnbmF0dXJl"


def message(answer: Answer) -> dict[str, Any]:
    """The `message` object of an answer."""
    body = {
        **_envelope(),
        "content": [part for number, block in enumerate(answer.blocks) for part in _parts(number, block)],
        **_ending(answer),
    }
    if answer.usage is not None:
        body["usage"] = _usage(answer.usage)
    return body


def events(answer: Answer) -> list[Event]:
    """The events of an answer's stream, `message_stop` last."""
    opened = {**_envelope(), "content": [], "stop_reason": None, "stop_sequence": None}
    first = answer.running[0] if answer.running else _first_total(answer.usage)
    if first is not None:
        opened["usage"] = _usage(first)
    ping = Event(EventKind.KEEP_ALIVE, _encode({"type": "ping"}))
    found = [_silent({"type": "message_start", "message": opened}), ping]
    index = 0
    for number, block in enumerate(answer.blocks):
        for part in _parts(number, block):
            found.extend(_block_events(index, part, block.pieces if isinstance(block, Text) else ()))
            index += 1
    unended = {"stop_reason": None, "stop_sequence": None}
    found.extend(_message_delta(unended, total) for total in answer.running[1:])
    found.append(_message_delta(_ending(answer), answer.usage))
    found.append(Event(EventKind.TERMINAL, _encode({"type": "message_stop"})))
    return found


def block_delta(delta: Any, *, index: int = 0) -> dict[str, Any]:
    """What adds to the block number `index`."""
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _envelope() -> dict[str, Any]:
    return {"id": "msg_conformance", "type": "message", "role": "assistant", "model": MODEL}


def _ending(answer: Answer) -> dict[str, Any]:
    """Why the answer ended, as a message and a `message_delta` say it."""
    if answer.finish not in FINISH_WORDS:
        raise ValueError(f"anthropic-messages has no word for the finish {answer.finish.value!r}")
    refusals = [block.text for block in answer.blocks if isinstance(block, Refusal)]
    # A refusal has no block of its own here; the stop reason tells it.
    finish = Finish.REFUSAL if refusals else answer.finish
    sequence = "###" if finish is Finish.OTHER_STOP else None
    ending: dict[str, Any] = {"stop_reason": FINISH_WORDS[finish], "stop_sequence": sequence}
    if finish is Finish.REFUSAL:
        explanation = "".join(refusals) or None
        ending["stop_details"] = {"type": "refusal", "category": None, "explanation": explanation}
    return ending


def _parts(number: int, block: Block) -> Iterator[dict[str, Any]]:
    """The content blocks of one neutral block, whole."""
    match block:
        case Text():
            yield {"type": "text", "text": block.text}
        case Thinking():
            yield {"type": "thinking", "thinking": block.text, "signature": _SIGNATURE}
        case ToolCall():
            arguments = json.loads(block.arguments)
            yield {"type": "tool_use", "id": f"toolu_conformance_{number}", "name": block.name, "input": arguments}
        case ServerToolCall():
            called = f"srvtoolu_conformance_{number}"
            result = {
                "type": "web_search_result",
                "title": "A source",
                "url": "https://source.invalid/",
                "encrypted_content": "bm90IGFuIGFuc3dlcg==",
                "page_age": None,
            }
            yield {"type": "server_tool_use", "id": called, "name": "web_search", "input": {"query": "tallest tree"}}
            yield {"type": "web_search_tool_result", "tool_use_id": called, "content": [result]}
        case UnknownBlock():
            yield UNKNOWN_BLOCK
        case Refusal():
            pass  # in the ending


def _block_events(index: int, part: dict[str, Any], pieces: tuple[str, ...]) -> Iterator[Event]:
    """A content block opened, filled and closed; `pieces` is how a text is cut."""
    opened, deltas = part, []
    match part["type"]:
        case "text":
            opened = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        case "thinking":
            opened = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": part["thinking"]},
                {"type": "signature_delta", "signature": part["signature"]},
            ]
        case "tool_use" | "server_tool_use":
            opened = {**part, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(part["input"])}]
        case "x_unheard_of":
            deltas = [{"type": "x_unheard_of_delta", "text": "not an answer"}]
    yield _silent({"type": "content_block_start", "index": index, "content_block": opened})
    for delta in deltas:
        text = delta["text"] if delta["type"] == "text_delta" else ""
        yield Event(EventKind.TEXT if text else EventKind.SILENT, _encode(block_delta(delta, index=index)), text)
    yield _silent({"type": "content_block_stop", "index": index})


def _message_delta(delta: dict[str, Any], usage: Usage | RawUsage | None) -> Event:
    data: dict[str, Any] = {"type": "message_delta", "delta": delta}
    if usage is not None:
        data["usage"] = _usage(usage)
    if delta["stop_reason"] is not None:
        return Event(EventKind.FINISH, _encode(data))
    return Event(EventKind.SILENT if usage is None else EventKind.USAGE, _encode(data))


def _first_total(usage: Usage | RawUsage | None) -> Usage | RawUsage | None:
    """What `message_start` reports of a usage: the whole input, and the first token of the output."""
    if isinstance(usage, Usage) and usage.completion_tokens is not None:
        return Usage(usage.prompt_tokens, 1, usage.cached_tokens)
    return usage


def _usage(usage: Usage | RawUsage) -> Any:
    if isinstance(usage, RawUsage):
        return usage.value
    return {
        "input_tokens": usage.prompt_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
        "server_tool_use": {"web_search_requests": usage.server_tool_requests},
        "service_tier": "standard",
    }


def _silent(data: dict[str, Any]) -> Event:
    return Event(EventKind.SILENT, _encode(data))


def _encode(data: dict[str, Any]) -> bytes:
    return encode_event(data, name=data["type"])
