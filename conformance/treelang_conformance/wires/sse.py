"""Server-sent events as bytes."""

from __future__ import annotations

from typing import Any

from treelang_conformance.json_text import encode_json
from treelang_conformance.wires.base import Event, EventKind

KEEP_ALIVES = {
    "comment": Event(EventKind.KEEP_ALIVE, b": keep-alive\n\n"),
    "empty-comment": Event(EventKind.KEEP_ALIVE, b":\n\n"),
    "blank-line": Event(EventKind.KEEP_ALIVE, b"\n"),
    "retry-line": Event(EventKind.KEEP_ALIVE, b"retry: 3000\n\n"),
}
"""What servers send so that no proxy on the way closes a quiet connection."""


def encode_event(data: Any, *, name: str | None = None) -> bytes:
    """One event whose data is JSON, with its ending blank line."""
    prefix = f"event: {name}\n" if name is not None else ""
    return f"{prefix}data: {encode_json(data)}\n\n".encode()
