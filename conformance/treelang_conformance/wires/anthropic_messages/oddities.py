"""What must break nothing in a stream, and what is no answer at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treelang_conformance.neutral import Answer
from treelang_conformance.wires.anthropic_messages.answers import UNKNOWN_BLOCK, block_delta, message
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.sse import KEEP_ALIVES, encode_event
from treelang_conformance.wires.unusable import altered, encode_bodies


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
    sound = message(Answer.of("A redwood."))
    wrong = {
        "missing-content": altered(sound, "content", remove=True),
        "null-content": altered(sound, "content", value=None),
        "number-content": altered(sound, "content", value=5),
        "string-content": altered(sound, "content", value="A redwood."),
        "object-content": altered(sound, "content", value=sound["content"][0]),
        "empty-content": altered(sound, "content", value=[]),
        "null-block": altered(sound, "content", value=[None]),
        "string-block": altered(sound, "content", value=["A redwood."]),
        "empty-block": altered(sound, "content", value=[{}]),
        "unknown-block-alone": altered(sound, "content", value=[UNKNOWN_BLOCK]),
        "missing-text": altered(sound, "content", 0, "text", remove=True),
        "null-text": altered(sound, "content", 0, "text", value=None),
        "number-text": altered(sound, "content", 0, "text", value=5),
        "array-text": altered(sound, "content", 0, "text", value=["A redwood."]),
        "empty-text": altered(sound, "content", 0, "text", value=""),
    }
    return encode_bodies(sound, wrong)
