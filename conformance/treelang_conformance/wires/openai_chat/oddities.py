"""What must break nothing in a stream, and what is no answer at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from treelang_conformance.wires.unusable import altered, encode_bodies


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
    sound = completion(Answer.of("A redwood."))
    wrong = {
        "missing-choices": altered(sound, "choices", remove=True),
        "null-choices": altered(sound, "choices", value=None),
        "string-choices": altered(sound, "choices", value="A redwood."),
        "object-choices": altered(sound, "choices", value={"0": sound["choices"][0]}),
        "empty-choices": altered(sound, "choices", value=[]),
        "null-choice": altered(sound, "choices", 0, value=None),
        "string-choice": altered(sound, "choices", 0, value="A redwood."),
        "missing-message": altered(sound, "choices", 0, "message", remove=True),
        "null-message": altered(sound, "choices", 0, "message", value=None),
        "string-message": altered(sound, "choices", 0, "message", value="A redwood."),
        "array-message": altered(sound, "choices", 0, "message", value=[]),
        "missing-content": altered(sound, "choices", 0, "message", "content", remove=True),
        "null-content": altered(sound, "choices", 0, "message", "content", value=None),
        "empty-content": altered(sound, "choices", 0, "message", "content", value=""),
        "number-content": altered(sound, "choices", 0, "message", "content", value=5),
        "true-content": altered(sound, "choices", 0, "message", "content", value=True),
        "object-content": altered(sound, "choices", 0, "message", "content", value={"text": "A redwood."}),
        "empty-content-list": altered(sound, "choices", 0, "message", "content", value=[]),
        "content-list-without-text": altered(sound, "choices", 0, "message", "content", value=[UNKNOWN_PART]),
    }
    return encode_bodies(sound, wrong)
