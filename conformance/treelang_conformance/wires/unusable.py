"""JSON bodies that are no answer: those that are none on any wire, and a sound one with one thing wrong in it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from treelang_conformance.json_text import encode_json

_NEVER_AN_ANSWER: Mapping[str, Any] = {
    "null": None,
    "true": True,
    "number": 5,
    "string": "A redwood.",
    "empty-array": [],
    "empty-object": {},
    "foreign-object": {"answer": "A redwood.", "text": "A redwood."},
}


def encode_bodies(sound: Any, wrong: Mapping[str, Any]) -> dict[str, bytes]:
    """The bodies of `wrong`, those that are no answer on any wire, and an array that holds the sound one."""
    values = {**_NEVER_AN_ANSWER, "array": [sound], **wrong}
    return {name: encode_json(value).encode() for name, value in values.items()}


def altered(body: Any, *path: str | int, value: Any = None, remove: bool = False) -> Any:
    """A copy of `body` with the member at `path` replaced or removed."""
    body = copy.deepcopy(body)
    holder = body
    for step in path[:-1]:
        holder = holder[step]
    if remove:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return body
