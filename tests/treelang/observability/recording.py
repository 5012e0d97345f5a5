"""A sink that keeps what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RecordingSink:
    """Keeps all events, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Mapping[str, Any]]] = []

    def record(self, event: str, attributes: Mapping[str, Any]) -> None:
        self.events.append((event, attributes))

    @property
    def names(self) -> list[str]:
        return [event for event, _ in self.events]

    def the(self, name: str) -> Mapping[str, Any]:
        """The attributes of the only event of that name."""
        [attributes] = [attributes for event, attributes in self.events if event == name]
        return attributes
