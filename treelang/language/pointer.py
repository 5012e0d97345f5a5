"""JSON pointers (RFC 6901), kept as linked paths until an error needs their text."""

from __future__ import annotations

from typing import Any, TypeAlias

Path: TypeAlias = tuple[Any, str | int] | None
"""The path of the enclosing value and the last step from there; `None` is the root."""


def pointer(path: Path) -> str:
    """The path as text: `/body/0/params/1`; `""` for the root."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(str(step).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{step}" for step in reversed(steps))
