"""Addresses at which a call fails or waits before there is a request: unknown, unread, silent."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def unknown_host(name: str) -> Iterator[None]:
    """Let this process's resolver say that `name` does not exist.

    Without it the answer would be up to the network that the kit runs on, and could take seconds.
    """
    resolve = socket.getaddrinfo

    @functools.wraps(resolve)
    def resolve_others(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host in (name, name.encode("ascii")):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *args, **kwargs)

    socket.getaddrinfo = resolve_others
    try:
        yield
    finally:
        socket.getaddrinfo = resolve


@contextlib.contextmanager
def unread_url() -> Iterator[str]:
    """A URL at which the kernel makes connections and takes a few bytes, and nobody reads."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


class SilentListener(asyncio.Protocol):
    """An address that takes connections and never says a word, so that a TLS handshake stays half-way.

    It lives in the event loop of the check; `async with SilentListener() as listener`.
    """

    def __init__(self) -> None:
        self._transports: list[asyncio.BaseTransport] = []
        self._heard = asyncio.Event()

    async def __aenter__(self) -> SilentListener:
        self._server = await asyncio.get_running_loop().create_server(lambda: self, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for transport in self._transports:
            transport.close()

    @property
    def url(self) -> str:
        """Scheme, host and port."""
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def heard(self) -> None:
        """Return once a client has connected and begun its handshake."""
        await self._heard.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection, to close it in the end."""
        self._transports.append(transport)

    def data_received(self, data: bytes) -> None:
        """Take note that the handshake has begun."""
        self._heard.set()
