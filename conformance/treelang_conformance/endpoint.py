"""Where a subject is told to send its requests, and the factory that makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from treelang import ModelTransport


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a subject needs in order to reach the loopback provider.

    Attributes:
        url: Base URL as the wire's SDK wants it.
        api_key: A key that must show up in no message, log or `repr`.
        timeout: Seconds to configure on the client, for connecting and for each read.
        wire: Name of the protocol under test.
        model: A model name that is sound on that wire.
    """

    url: str
    api_key: str
    timeout: float
    wire: str
    model: str


TransportFactory: TypeAlias = Callable[[Endpoint], ModelTransport | Awaitable[ModelTransport]]
"""`make(endpoint) -> transport`, sync or async."""
