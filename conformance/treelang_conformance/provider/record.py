"""What the loopback provider saw: requests as received, connections as they were opened, used and closed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """It was opened and has carried nothing yet, or a request is being received or answered."""
    IDLE = "idle"
    """The last answer is complete and the connection can be used again."""
    CLOSED = "closed"
    """The client has closed it or reset it, or the provider did."""


_KEPT_BYTES = 4096


@dataclass(slots=True, eq=False)
class Connection:
    """One connection as the provider sees it: a live view, written by the provider's thread alone.

    Attributes:
        id: Its position in `Provider.connections`, as in `RecordedRequest.connection`.
        state: What it is doing now.
        requests: How many requests were received on it.
        ending: What ended it, in words; empty while it is open.
        exchanged: What went over it, in order: requests as received and the bytes sent in answer, of which only
            the beginning is kept.
        dropped: How many bytes sent are not in `exchanged`.
    """

    id: int
    state: ConnectionState = ConnectionState.BUSY
    requests: int = 0
    ending: str = ""
    exchanged: list[RecordedRequest | bytes] = field(default_factory=list, repr=False)
    dropped: int = 0
    _kept: int = field(default=0, init=False, repr=False)

    def received(self, request: RecordedRequest) -> None:
        """Take down a request."""
        self.requests += 1
        self.exchanged.append(request)

    def sent(self, data: bytes) -> None:
        """Take down bytes sent, up to a limit that keeps long streams out of memory."""
        kept = data[: _KEPT_BYTES - self._kept]
        self._kept += len(kept)
        self.dropped += len(data) - len(kept)
        if kept:
            self.exchanged.append(kept)
