"""What must break nothing in a stream, and what is no answer at all."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from treelang_conformance.json_text import encode_json
from treelang_conformance.neutral import Answer
from treelang_conformance.wires.anthropic_messages.answers import UNKNOWN_BLOCK, block_delta, message
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.sse import KEEP_ALIVES, encode_event


def silent_events() -> dict[str, Event]:
    """Pings, deltas without text, and lines that are no events at all."""
    unended = {"stop_reason": None, "stop_sequence": None}
    named: Mapping[str, dict[str, Any]] = {
        "thinking-delta": block_delta({"type": "thinking_delta", "thinking": "Let me think."}),
        "signature-delta": block_delta({"type": "signature_delta", "signature": "c2lnbmF0dXJl"}),
        "citations-delta": block_delta({"type": "citations_delta", "citation": {"cited_text": "not an answer"}}),
        "unknown-delta": block_delta({"type": "x_unheard_of_delta", "text": "not an answer"}),
        "empty-text-delta": block_delta({"type": "text_delta", "text": ""}),
        "null-text-delta": block_delta({"type": "text_delta", "text": None}),
        "null-delta": block_delta(None),
        "empty-delta": block_delta({}),
        "missing-delta": {"type": "content_block_delta", "index": 0},
        "usage-null": {"type": "message_delta", "delta": unended, "usage": None},
        "usage-missing": {"type": "message_delta", "delta": unended},
        "unknown-event": {**UNKNOWN_BLOCK, "delta": {"type": "text_delta", "text": "not an answer"}},
    }
    ping = Event(EventKind.KEEP_ALIVE, encode_event({"type": "ping"}, name="ping"))
    silent = {name: Event(EventKind.SILENT, encode_event(data, name=data["type"])) for name, data in named.items()}
    return {"ping": ping, **KEEP_ALIVES, **silent}


def unusable_bodies() -> dict[str, bytes]:
    """JSON bodies that are no answer in this protocol; usage is sound wherever there is a place for it."""
    values = {
        "null": None,
        "true": True,
        "number": 5,
        "string": "A redwood.",
        "empty-array": [],
        "array": [_sound()],
        "empty-object": {},
        "foreign-object": {"output": "A redwood.", "text": "A redwood."},
        "missing-content": _changed("content", remove=True),
        "null-content": _changed("content", value=None),
        "number-content": _changed("content", value=5),
        "string-content": _changed("content", value="A redwood."),
        "object-content": _changed("content", value=_sound()["content"][0]),
        "empty-content": _changed("content", value=[]),
        "null-block": _changed("content", value=[None]),
        "string-block": _changed("content", value=["A redwood."]),
        "empty-block": _changed("content", value=[{}]),
        "unknown-block-alone": _changed("content", value=[UNKNOWN_BLOCK]),
        "missing-text": _changed("content", 0, "text", remove=True),
        "null-text": _changed("content", 0, "text", value=None),
        "number-text": _changed("content", 0, "text", value=5),
        "array-text": _changed("content", 0, "text", value=["A redwood."]),
        "empty-text": _changed("content", 0, "text", value=""),
    }
    return {name: encode_json(value).encode() for name, value in values.items()}


def _sound() -> dict[str, Any]:
    return message(Answer.of("A redwood."))


def _changed(*path: str | int, value: Any = None, remove: bool = False) -> dict[str, Any]:
    """A sound message with the member at `path` replaced or removed."""
    body = copy.deepcopy(_sound())
    holder: Any = body
    for step in path[:-1]:
        holder = holder[step]
    if remove:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return body
