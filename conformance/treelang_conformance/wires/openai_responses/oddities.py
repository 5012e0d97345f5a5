"""What must break nothing in a stream, and what is no answer at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treelang_conformance.neutral import Answer, UnknownBlock
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.openai_responses.answers import (
    failed_response,
    item,
    message,
    opened_response,
    part,
    response,
    summary_part,
    text_part,
)
from treelang_conformance.wires.openai_responses.events import encode
from treelang_conformance.wires.sse import KEEP_ALIVES
from treelang_conformance.wires.unusable import altered, encode_bodies

_UNKNOWN = UnknownBlock()

_MESSAGE = {"item_id": "msg_conformance_0", "output_index": 0}
_TEXT = {**_MESSAGE, "content_index": 0}
_BESIDE = {"item_id": "beside_conformance", "output_index": 1}

_CITATION = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 1,
    "title": "A source",
    "url": "https://source.invalid/",
}

# By a name of ours: the type of the event, and its fields beside that and the number.
_SILENT: Mapping[str, tuple[str, Any]] = {
    "queued": ("response.queued", {"response": opened_response("queued")}),
    "in-progress": ("response.in_progress", {"response": opened_response()}),
    "in-progress-without-response": ("response.in_progress", {}),
    "null-response": ("response.in_progress", {"response": None}),
    "empty-message-added": ("response.output_item.added", {"output_index": 1, "item": message(1, (), "in_progress")}),
    "unknown-item-added": ("response.output_item.added", {"output_index": 1, "item": item(1, [_UNKNOWN])}),
    "unknown-item-done": ("response.output_item.done", {"output_index": 1, "item": item(1, [_UNKNOWN])}),
    "null-item": ("response.output_item.added", {"output_index": 1, "item": None}),
    "missing-item": ("response.output_item.done", {"output_index": 1}),
    "empty-part-added": ("response.content_part.added", {**_TEXT, "part": text_part("")}),
    "unknown-part-added": ("response.content_part.added", {**_TEXT, "part": part(_UNKNOWN)}),
    "unknown-part-done": ("response.content_part.done", {**_TEXT, "part": part(_UNKNOWN)}),
    "null-part": ("response.content_part.added", {**_TEXT, "part": None}),
    "empty-delta": ("response.output_text.delta", {**_TEXT, "delta": ""}),
    "null-delta": ("response.output_text.delta", {**_TEXT, "delta": None}),
    "missing-delta": ("response.output_text.delta", _TEXT),
    "annotation-added": (
        "response.output_text.annotation.added",
        {**_TEXT, "annotation_index": 0, "annotation": _CITATION},
    ),
    "reasoning-added": (
        "response.output_item.added",
        {"output_index": 1, "item": {"id": "rs_conformance", "type": "reasoning", "summary": []}},
    ),
    "reasoning-summary-part": (
        "response.reasoning_summary_part.added",
        {**_BESIDE, "summary_index": 0, "part": summary_part("Let me think.")},
    ),
    "reasoning-summary-delta": (
        "response.reasoning_summary_text.delta",
        {**_BESIDE, "summary_index": 0, "delta": "Let me think."},
    ),
    "reasoning-delta": ("response.reasoning_text.delta", {**_BESIDE, "content_index": 0, "delta": "Let me think."}),
    "reasoning-done": ("response.reasoning_text.done", {**_BESIDE, "content_index": 0, "text": "Let me think."}),
    "web-search-begun": ("response.web_search_call.in_progress", _BESIDE),
    "web-search-searching": ("response.web_search_call.searching", _BESIDE),
    "web-search-completed": ("response.web_search_call.completed", _BESIDE),
    "file-search-searching": ("response.file_search_call.searching", _BESIDE),
    "code-of-the-interpreter": ("response.code_interpreter_call_code.delta", {**_BESIDE, "delta": "print('tree')"}),
    "remote-tools-listed": ("response.mcp_list_tools.completed", _BESIDE),
    "arguments-of-a-remote-tool": ("response.mcp_call_arguments.delta", {**_BESIDE, "delta": '{"tree":'}),
    "image-begun": ("response.image_generation_call.partial_image", {**_BESIDE, "partial_image_b64": "bm8="}),
    "audio-transcript": ("response.audio.transcript.delta", {"delta": "not an answer"}),
    "unknown-event": ("response.x_unheard_of", {"delta": "not an answer", "text": "not an answer"}),
    "unknown-family-of-events": ("x_unheard_of", {"response": opened_response("x_unheard_of")}),
}


def silent_events() -> dict[str, Event]:
    """Progress of all kinds, deltas without text, events nobody has heard of, and lines that are no events at all."""
    alive = encode("keepalive", {}, EventKind.KEEP_ALIVE)
    silent = {name: encode(type_, fields, EventKind.SILENT) for name, (type_, fields) in _SILENT.items()}
    return {"keepalive": alive, **KEEP_ALIVES, **silent}


def unusable_bodies() -> dict[str, bytes]:
    """JSON bodies that are no answer in this protocol; usage is sound wherever there is a place for it."""
    sound = response(Answer.of("A redwood."))
    reasons = ("max_output_tokens", "content_filter", "max_messages", "x_unheard_of")
    wrong = {
        "missing-output": altered(sound, "output", remove=True),
        "null-output": altered(sound, "output", value=None),
        "string-output": altered(sound, "output", value="A redwood."),
        "object-output": altered(sound, "output", value=sound["output"][0]),
        "empty-output": altered(sound, "output", value=[]),
        "null-item": altered(sound, "output", value=[None]),
        "string-item": altered(sound, "output", value=["A redwood."]),
        "empty-item": altered(sound, "output", value=[{}]),
        "part-as-item": altered(sound, "output", value=[text_part("A redwood.")]),
        "missing-type-of-item": altered(sound, "output", 0, "type", remove=True),
        "missing-content": altered(sound, "output", 0, "content", remove=True),
        "null-content": altered(sound, "output", 0, "content", value=None),
        "number-content": altered(sound, "output", 0, "content", value=5),
        "string-content": altered(sound, "output", 0, "content", value="A redwood."),
        "object-content": altered(sound, "output", 0, "content", value=text_part("A redwood.")),
        "empty-content": altered(sound, "output", 0, "content", value=[]),
        "null-part": altered(sound, "output", 0, "content", value=[None]),
        "string-part": altered(sound, "output", 0, "content", value=["A redwood."]),
        "empty-part": altered(sound, "output", 0, "content", value=[{}]),
        "unknown-part-alone": altered(sound, "output", 0, "content", value=[part(_UNKNOWN)]),
        "missing-text": altered(sound, "output", 0, "content", 0, "text", remove=True),
        "null-text": altered(sound, "output", 0, "content", 0, "text", value=None),
        "number-text": altered(sound, "output", 0, "content", 0, "text", value=5),
        "array-text": altered(sound, "output", 0, "content", 0, "text", value=["A redwood."]),
        "empty-text": altered(sound, "output", 0, "content", 0, "text", value=""),
        "missing-status": altered(sound, "status", remove=True),
        "number-status": altered(sound, "status", value=5),
        "queued": opened_response("queued"),
        "in-progress": opened_response("in_progress"),
        "in-progress-with-text": altered(sound, "status", value="in_progress"),
        "cancelled": altered(sound, "status", value="cancelled"),
        "failed-without-an-error": failed_response(None),
        "failed-with-text": altered(sound, "status", value="failed"),
        "incomplete-without-details": altered(sound, "status", value="incomplete"),
        **{f"incomplete-for-{reason}": _incomplete(sound, reason) for reason in reasons},
    }
    return encode_bodies(sound, wrong)


def _incomplete(sound: dict[str, Any], reason: str) -> dict[str, Any]:
    return {**sound, "status": "incomplete", "incomplete_details": {"reason": reason}}
