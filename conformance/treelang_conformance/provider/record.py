"""What the loopback provider saw: requests as received, connections as they were opened, used and closed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request as received. Header names are in lower case."""

    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; raises `ValueError` when it is none."""
        return json.loads(self.body)


class ConnectionState(StrEnum):
    """What a connection is doing, seen from the provider."""

    BUSY = "busy"
    """A request is being received or answered."""
    IDLE = "idle"
    """The last answer is complete and the connection can be used again."""
    CLOSED = "closed"
    """The client has closed it or reset it, or the provider did."""
