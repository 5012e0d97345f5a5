"""Answers in the chat form: the completion object, and the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treelang_conformance.neutral import (
    Answer,
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

MODEL = "gpt-4.1-mini"

FINISH_WORDS: Mapping[Finish, str | None] = {
    Finish.STOP: "stop",
    Finish.OTHER_STOP: "eos",  # Together and other compatible servers
    Finish.LENGTH: "length",
    Finish.CONTENT_FILTER: "content_filter",
    Finish.TOOL_CALLS: "tool_calls",
    Finish.REFUSAL: "stop",  # the message's own field tells it
    Finish.FAILED: "error",  # OpenRouter, Mistral
    Finish.UNKNOWN: "x_unheard_of",
    Finish.ABSENT: None,
}

UNKNOWN_PART = {"type": "x_unheard_of", "text": "not an answer"}

_REFUSAL = Refusal("I'm sorry, but I can't help with that.")

_ENVELOPE = {
    "id": "chatcmpl-conformance",
    "created": 1790000000,
    "model": MODEL,
    "service_tier": "default",
    "system_fingerprint": "fp_conformance",
}


def completion(answer: Answer) -> dict[str, Any]:
    """The `chat.completion` object of an answer."""
    choice = {
        "index": 0,
        "message": _message(answer),
        "logprobs": None,
        "finish_reason": _finish_word(answer.finish),
    }
    body = {**_ENVELOPE, "object": "chat.completion", "choices": [choice]}
    if answer.usage is not None:
        body["usage"] = _usage(answer.usage)
    return body


def events(answer: Answer) -> list[Event]:
    """The events of an answer's stream, `[DONE]` last."""
    deltas = list(_deltas(answer))
    if len(answer.running) > len(deltas):
        raise ValueError(f"{len(answer.running)} running totals do not fit on {len(deltas)} chunks")
    found = []
    for position, (delta, text) in enumerate(deltas):
        chunk = content_chunk(delta)
        if position < len(answer.running):
            chunk["usage"] = _usage(answer.running[position])
        found.append(Event(EventKind.TEXT if text else EventKind.SILENT, encode_event(chunk), text))
    if answer.finish is not Finish.ABSENT:
        last = content_chunk({}, finish_reason=_finish_word(answer.finish))
        found.append(Event(EventKind.FINISH, encode_event(last)))
    if answer.usage is not None:
        found.append(Event(EventKind.USAGE, encode_event(usage_chunk(_usage(answer.usage)))))
    found.append(Event(EventKind.TERMINAL, b"data: [DONE]\n\n"))
    return found


def content_chunk(delta: Any, *, index: int = 0, finish_reason: str | None = None) -> dict[str, Any]:
    """A chunk with one choice."""
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return {**_ENVELOPE, "object": "chat.completion.chunk", "choices": [choice], "usage": None}


def usage_chunk(usage: Any) -> dict[str, Any]:
    """The chunk that ends a stream where usage was asked for; it has no choices."""
    return {**_ENVELOPE, "object": "chat.completion.chunk", "choices": [], "usage": usage}


def thinking_part(text: str) -> dict[str, Any]:
    """Reasoning as a part of the content, as Mistral sends it."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _message(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": _content(answer),
        "refusal": "".join(block.text for block in _refusals(answer)) or None,
        "annotations": _annotations(answer),
    }
    thoughts = [block.text for block in answer.blocks if isinstance(block, Thinking)]
    if thoughts and not _in_parts(answer):
        message["reasoning_content"] = "".join(thoughts)
    calls = [block for block in answer.blocks if isinstance(block, ToolCall)]
    if calls:
        message["tool_calls"] = [_tool_call(number, call) for number, call in enumerate(calls)]
    return message


def _content(answer: Answer) -> Any:
    if _in_parts(answer):
        return [part for block in answer.blocks for part in _parts(block)]
    return next((block.text for block in answer.blocks if isinstance(block, Text)), None)


def _in_parts(answer: Answer) -> bool:
    """Whether the content is a list of parts; only some servers send one, and only where a string would not do."""
    return sum(isinstance(block, Text | UnknownBlock) for block in answer.blocks) > 1


def _parts(block: object) -> Iterator[dict[str, Any]]:
    match block:
        case Text():
            yield {"type": "text", "text": block.text}
        case Thinking():
            yield thinking_part(block.text)
        case UnknownBlock():
            yield UNKNOWN_PART


def _deltas(answer: Answer) -> Iterator[tuple[dict[str, Any], str]]:
    """Every delta before the finish reason, with the text that it adds."""
    yield {"role": "assistant", "content": "", "refusal": None}, ""
    in_parts = _in_parts(answer)
    calls = 0
    for block in answer.blocks:
        match block:
            case Text():
                for piece in block.pieces:
                    yield {"content": [{"type": "text", "text": piece}] if in_parts else piece}, piece
            case Thinking():
                yield ({"content": [thinking_part(block.text)]} if in_parts else {"reasoning_content": block.text}), ""
            case UnknownBlock():
                yield ({"content": [UNKNOWN_PART]} if in_parts else {"x_unheard_of": UNKNOWN_PART}), ""
            case ToolCall():
                yield {"tool_calls": [_tool_call_start(calls, block)]}, ""
                yield {"tool_calls": [{"index": calls, "function": {"arguments": block.arguments}}]}, ""
                calls += 1
            case ServerToolCall():
                yield {"annotations": [_annotation()]}, ""
            case Refusal():
                pass  # after the content, as below
    for refusal in _refusals(answer):
        yield {"refusal": refusal.text}, ""


def _refusals(answer: Answer) -> Sequence[Refusal]:
    found = [block for block in answer.blocks if isinstance(block, Refusal)]
    return found or ([_REFUSAL] if answer.finish is Finish.REFUSAL else [])


def _tool_call(number: int, call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": f"call_conformance_{number}", "type": "function", "function": function}


def _tool_call_start(number: int, call: ToolCall) -> dict[str, Any]:
    return {"index": number, **_tool_call(number, ToolCall(call.name, ""))}


def _annotations(answer: Answer) -> list[dict[str, Any]]:
    return [_annotation() for block in answer.blocks if isinstance(block, ServerToolCall)]


def _annotation() -> dict[str, Any]:
    """What a web search that the provider ran leaves in the answer."""
    citation = {"start_index": 0, "end_index": 1, "title": "A source", "url": "https://source.invalid/"}
    return {"type": "url_citation", "url_citation": citation}


def _usage(usage: Usage | RawUsage) -> Any:
    if isinstance(usage, RawUsage):
        return usage.value
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": (usage.prompt_tokens or 0) + (usage.completion_tokens or 0),
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _finish_word(finish: Finish) -> str | None:
    if finish not in FINISH_WORDS:
        raise ValueError(f"openai-chat has no word for the finish {finish.value!r}")
    return FINISH_WORDS[finish]
