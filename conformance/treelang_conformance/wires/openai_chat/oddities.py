"""What must break nothing in a stream, and what is no answer at all."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from treelang_conformance.json_text import encode_json
from treelang_conformance.neutral import Answer
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.openai_chat.answers import (
    UNKNOWN_PART,
    completion,
    content_chunk,
    thinking_part,
    usage_chunk,
)
from treelang_conformance.wires.sse import KEEP_ALIVES, encode_event


def silent_events() -> dict[str, Event]:
    """Chunks without text for the first choice, and lines that are no chunks at all."""
    without_delta = content_chunk({})
    del without_delta["choices"][0]["delta"]
    chunks: Mapping[str, Any] = {
        "role-only": content_chunk({"role": "assistant"}),
        "empty-delta": content_chunk({}),
        "null-delta": content_chunk(None),
        "missing-delta": without_delta,  # Azure, with the results of its asynchronous filter
        "empty-content": content_chunk({"content": ""}),
        "null-content": content_chunk({"content": None}),
        "empty-content-list": content_chunk({"content": []}),
        "null-refusal": content_chunk({"refusal": None}),
        "empty-refusal": content_chunk({"refusal": ""}),
        "null-tool-calls": content_chunk({"tool_calls": None}),
        "empty-tool-calls": content_chunk({"tool_calls": []}),
        "reasoning-content": content_chunk({"reasoning_content": "Let me think."}),  # DeepSeek
        "reasoning": content_chunk({"content": "", "reasoning": "Let me think."}),  # OpenRouter, Groq, Ollama
        "thinking-part": content_chunk({"content": [thinking_part("Let me think.")]}),  # Mistral
        "unknown-part": content_chunk({"content": [UNKNOWN_PART]}),
        "unknown-delta": content_chunk({"x_unheard_of": UNKNOWN_PART}),
        "second-choice": content_chunk({"content": "another answer"}, index=1),
        "empty-choices": usage_chunk(None),
        "prompt-filter-results": {  # Azure's first chunk
            **usage_chunk(None),
            "id": "",
            "model": "",
            "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}],
        },
        "unknown-object": {"object": "x_unheard_of", "x_unheard_of": UNKNOWN_PART},
    }
    encoded = {
        **{name: encode_event(chunk) for name, chunk in chunks.items()},
        "unknown-event-name": encode_event(content_chunk({}), name="x_unheard_of"),
    }
    return KEEP_ALIVES | {name: Event(EventKind.SILENT, data) for name, data in encoded.items()}


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
        "missing-choices": _changed("choices", remove=True),
        "null-choices": _changed("choices", value=None),
        "string-choices": _changed("choices", value="A redwood."),
        "object-choices": _changed("choices", value={"0": _sound()["choices"][0]}),
        "empty-choices": _changed("choices", value=[]),
        "null-choice": _changed("choices", 0, value=None),
        "string-choice": _changed("choices", 0, value="A redwood."),
        "missing-message": _changed("choices", 0, "message", remove=True),
        "null-message": _changed("choices", 0, "message", value=None),
        "string-message": _changed("choices", 0, "message", value="A redwood."),
        "array-message": _changed("choices", 0, "message", value=[]),
        "missing-content": _changed("choices", 0, "message", "content", remove=True),
        "null-content": _changed("choices", 0, "message", "content", value=None),
        "empty-content": _changed("choices", 0, "message", "content", value=""),
        "number-content": _changed("choices", 0, "message", "content", value=5),
        "true-content": _changed("choices", 0, "message", "content", value=True),
        "object-content": _changed("choices", 0, "message", "content", value={"text": "A redwood."}),
        "empty-content-list": _changed("choices", 0, "message", "content", value=[]),
        "content-list-without-text": _changed("choices", 0, "message", "content", value=[UNKNOWN_PART]),
    }
    return {name: encode_json(value).encode() for name, value in values.items()}


def _sound() -> dict[str, Any]:
    return completion(Answer.of("A redwood."))


def _changed(*path: str | int, value: Any = None, remove: bool = False) -> dict[str, Any]:
    """A sound completion with the member at `path` replaced or removed."""
    body = copy.deepcopy(_sound())
    holder: Any = body
    for step in path[:-1]:
        holder = holder[step]
    if remove:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return body
