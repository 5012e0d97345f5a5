"""Server-sent events as bytes."""

from __future__ import annotations

from typing import Any

from treelang_conformance.json_text import encode_json

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment, as servers send it so that no proxy on the way closes a quiet connection."""


def encode_event(data: str | Any, *, name: str | None = None) -> bytes:
    """One event with its ending blank line; `data` is taken as it is when it is text, else as JSON."""
    text = data if isinstance(data, str) else encode_json(data)
    prefix = f"event: {name}\n" if name is not None else ""
    return f"{prefix}data: {text}\n\n".encode()
