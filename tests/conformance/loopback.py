"""A plain client on a socket, and a bounded event loop, for tests that look at the loopback provider from outside."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

from treelang_conformance.provider.server import Provider

T = TypeVar("T")

_BOUND = 10.0  # seconds until a hanging test fails; never waited for in a passing one

TLS_CONTEXT = ssl.create_default_context()
"""Shared by all clients of SDKs: making one is most of what making a client costs."""

REQUEST = b'POST /v1/tree HTTP/1.1\r\nHost: provider\r\nContent-Length: 14\r\n\r\n{"tree":"oak"}'


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own, with a bound."""

    async def bounded() -> T:
        async with asyncio.timeout(_BOUND):
            return await coroutine

    return asyncio.run(bounded())


class Client:
    """A blocking client that sends bytes and takes what comes back."""

    def __init__(self, provider: Provider) -> None:
        host, _, port = provider.url.removeprefix("http://").partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=_BOUND)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes = REQUEST) -> None:
        """Send all of `data`."""
        self.socket.sendall(data)

    def receive(self, ending: bytes) -> bytes:
        """Receive until the bytes end with `ending`."""
        received = b""
        while not received.endswith(ending):
            data = self.socket.recv(65536)
            assert data, f"closed after {received!r}"
            received += data
        return received

    def receive_all(self) -> bytes:
        """Receive until the provider closes its side."""
        received = b""
        while data := self.socket.recv(65536):
            received += data
        return received

    def leave(self) -> None:
        """Close the connection (FIN)."""
        self.socket.close()

    def reset(self) -> None:
        """Reset the connection (RST)."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
