"""Short words for what providers send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from treelang_conformance.provider.script import Reply, Send, Step

Event: TypeAlias = Mapping[str, Any] | str | Step

CHAT = "openai-chat"
RESPONSES = "openai-responses"
MESSAGES = "anthropic-messages"


def event_stream(*events: Event) -> Reply:
    """A stream with each event in one write: an object (named by its `type`, if it has one), bare data, or a step."""
    return Reply.event_stream(*(_step(event) for event in events))


def _step(event: Event) -> Step:
    match event:
        case str():
            return Send(f"data: {event}\n\n".encode())
        case Mapping():
            name = f"event: {event['type']}\n" if "type" in event else ""
            return Send(f"{name}data: {json.dumps(event)}\n\n".encode())
    return event


def refusal(status: int, error: Any, **headers: str) -> Reply:
    """A failing response whose body has `error` in it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply.json({"error": error}, status=status, headers=named)


# --- chat completions ---

DONE = "[DONE]"
STOP: Event = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
NO_CHOICES: Event = {"choices": [], "id": "", "model": "", "prompt_filter_results": [{"prompt_index": 0}]}


def piece(text: str, **fields: Any) -> Event:
    """A chunk that adds `text`."""
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **fields}


def chat_usage(prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    """The field `usage`."""
    total = prompt_tokens + completion_tokens
    return {
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total},
    }


def counted(prompt_tokens: int, completion_tokens: int) -> Event:
    """The chunk that carries usage and nothing else."""
    return {"choices": [], **chat_usage(prompt_tokens, completion_tokens)}


def completion(text: str, prompt_tokens: int, completion_tokens: int) -> Reply:
    """A whole chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return Reply.json({"choices": [choice], **chat_usage(prompt_tokens, completion_tokens)})


# --- messages ---

BLOCK: Event = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
BLOCK_END: Event = {"type": "content_block_stop", "index": 0}
MESSAGE_STOP: Event = {"type": "message_stop"}


def started(input_tokens: int | None = 25, output_tokens: int | None = 1, **counters: int) -> Event:
    """The event that opens a message."""
    usage = {"input_tokens": input_tokens, "output_tokens": output_tokens, **counters}
    return {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "usage": usage}}


def said(text: str) -> Event:
    """An event that adds `text`."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def ended(stop_reason: str = "end_turn", **counters: int | None) -> Event:
    """The event that gives the stop reason, with usage if there is any."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, **({"usage": counters} if counters else {})}


def message_stream(start: Event, *ends: Event) -> Reply:
    """A whole message that says "hi"."""
    return event_stream(start, BLOCK, said("hi"), BLOCK_END, *ends, MESSAGE_STOP)


def message(text: str, **counters: int) -> Reply:
    """A whole message that is no stream."""
    content = [{"type": "text", "text": text}]
    return Reply.json(
        {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": counters}
    )


def failed(error_type: str, text: str = "") -> Event:
    """The event, or the body, that reports an error."""
    return {"type": "error", "error": {"type": error_type, "message": text, "details": None}}


def message_refusal(status: int, text: str, error_type: str = "invalid_request_error") -> Reply:
    """A failing response."""
    return Reply.json(failed(error_type, text), status=status)


# --- responses ---


def response_event(status: str, **fields: Any) -> Event:
    """The event that closes a response."""
    response = {"id": "resp_1", "object": "response", "status": status, "output": [], **fields}
    return {"type": f"response.{status}", "sequence_number": 2, "response": response}


def output(text: str) -> list[dict[str, Any]]:
    """The field `output` with one message."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}]


def output_delta(text: str) -> Event:
    """An event that adds `text`."""
    return {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": text}
