"""A client in the place of the SDKs' under the adapters: HTTP on asyncio's own streams, and nothing else.

The kill table runs every check of the kit against every mutant. Most of the time of such a run would be spent inside
the SDKs, which no mutant is about. The adapters notice no difference: the table's control, an adapter over this client
with nothing broken, keeps every clause.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import select
import ssl
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from treelang_conformance.endpoint import Endpoint


class StatusError(Exception):
    """A failing response, with its body as far as it came."""

    def __init__(self, response: Response) -> None:
        # The SDKs put the provider's words into their exceptions as well.
        super().__init__(f"Error code: {response.status_code} - {response.body!r}")
        self.response = response


class LeanClient:
    """What the adapters need of `AsyncOpenAI` and `AsyncAnthropic`, by the same names.

    Attributes:
        timeout: Seconds for connecting and for each read or write.
        idle: Connections that can be used again.
        response_class: What responses are made of.
    """

    max_retries = 0

    def __init__(self, endpoint: Endpoint) -> None:
        self.api_key = endpoint.api_key
        self.timeout = endpoint.timeout
        self.idle: list[Connection] = []
        self.response_class = Response
        self._url = urlsplit(endpoint.url)
        self.chat = SimpleNamespace(completions=self._resource("/chat/completions"))
        self.responses = self._resource("/responses")
        self.messages = self._resource("/v1/messages")

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        default = 443 if self._url.scheme == "https" else 80
        return self._url.hostname or "", self._url.port or default

    def _resource(self, path: str) -> SimpleNamespace:
        return SimpleNamespace(with_streaming_response=SimpleNamespace(create=functools.partial(self._create, path)))

    @contextlib.asynccontextmanager
    async def _create(
        self,
        path: str,
        *,
        extra_body: dict[str, Any] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # the SDKs name it so
        **body: Any,
    ) -> AsyncIterator[Response]:
        """The exchange; on leaving, the connection is kept where its answer was read whole, else given up.

        Args:
            path: Behind the base URL.
            extra_body: Members of the body beside those that are named.
            timeout: Of no effect: the client's own holds.
            body: The members of the body.
        """
        connection = await self.connection()
        try:
            status, headers = await connection.ask(self._request(path, {**body, **(extra_body or {})}))
            response = self.response_class(status, headers, connection)
            if not 200 <= response.status_code < 300:
                await response.read_failure()
                raise StatusError(response)
            yield response
        finally:
            self.release(connection)

    async def connection(self) -> Connection:
        """An idle connection, or a new one."""
        while self.idle:
            connection = self.idle.pop()
            if connection.is_quiet():
                return connection
            connection.abort()
        return await self.connect()

    async def connect(self) -> Connection:
        """A new connection."""
        tls = _tls() if self._url.scheme == "https" else None
        async with asyncio.timeout(self.timeout):
            return Connection(*await asyncio.open_connection(*self.address, ssl=tls), self.timeout)

    def release(self, connection: Connection) -> None:
        """Keep a connection for the next exchange, or give it up."""
        if connection.reusable:
            self.idle.append(connection)
        else:
            connection.abort()

    def _request(self, path: str, body: dict[str, Any]) -> bytes:
        content = json.dumps(body, ensure_ascii=False).encode()
        head = (
            f"POST {self._url.path}{path} HTTP/1.1",
            f"host: {self._url.netloc}",
            "content-type: application/json",
            f"content-length: {len(content)}",
            f"authorization: Bearer {self.api_key}",
            f"x-api-key: {self.api_key}",
            "anthropic-version: 2023-06-01",
        )
        return "\r\n".join((*head, "", "")).encode() + content

    async def close(self) -> None:
        """Give up the idle connections."""
        while self.idle:
            self.idle.pop().abort()


class Connection:
    """One connection, which carries one exchange after another.

    Attributes:
        reusable: Whether the last answer was read whole, and nothing ends the connection after it.
        status: Of the last response, from its headers on.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout: float) -> None:
        self._reader = reader
        self._writer = writer
        self._timeout = timeout
        self._received = bytearray()
        self.reusable = False
        self.status: int | None = None

    def is_quiet(self) -> bool:
        """Whether nothing has come since the last answer, not even the end."""
        readable, _, _ = select.select([self._writer.get_extra_info("socket")], [], [], 0)
        return not readable and not self._received

    def abort(self) -> None:
        """Close without waiting for anything that is still to be sent."""
        self._writer.transport.abort()

    async def ask(self, request: bytes) -> tuple[int, dict[str, str]]:
        """Send a request and return the status and the headers that come back."""
        self.reusable = False
        self._writer.write(request)
        await self.drain()
        _, _, status = (await self.line()).partition(b" ")
        headers: dict[str, str] = {}
        while line := await self.line():
            name, _, value = line.decode("latin-1").partition(":")
            known = headers.get(name.lower())
            headers[name.lower()] = value.strip() if known is None else f"{known}, {value.strip()}"
        self.status = int(status[:3])
        return self.status, headers

    async def drain(self) -> None:
        """Wait until what was written is on its way."""
        if self._writer.transport.get_write_buffer_size():
            async with asyncio.timeout(self._timeout):
                await self._writer.drain()

    async def line(self) -> bytes:
        """The next line, without its end."""
        while not (length := self._received.find(b"\n") + 1):
            if not await self._receive():
                raise ConnectionError("closed inside a line")
        return self._taken(length).rstrip(b"\r\n")

    async def some(self, most: int) -> bytes:
        """The bytes that have come, or come next; none at the end."""
        if not self._received:
            await self._receive()
        return self._taken(most)

    async def _receive(self) -> bool:
        """Wait for more bytes, and tell whether any came."""
        async with asyncio.timeout(self._timeout):
            data = await self._reader.read(_MOST)
        self._received += data
        return bool(data)

    def _taken(self, most: int) -> bytes:
        data = bytes(self._received[:most])
        del self._received[:most]
        return data


class Response:
    """A response whose body may still be under way."""

    http_request = None

    def __init__(self, status_code: int, headers: dict[str, str], connection: Connection) -> None:
        self.status_code = status_code
        self.headers = headers
        self.body = b""
        self._connection = connection

    def json(self) -> Any:
        """The body of a failing response, decoded."""
        return json.loads(self.body)

    async def read_failure(self) -> None:
        """Read the body of a failing response as far as it comes: the status says enough."""
        with contextlib.suppress(OSError):
            self.body = await self.read()

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([data async for data in self.iter_bytes()])

    async def close(self) -> None:
        """Read no more of the body: its connection is given up, unless it was read whole."""
        if not self._connection.reusable:
            self._connection.abort()

    async def iter_bytes(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        chunked = self.headers.get("transfer-encoding") == "chunked"
        left = await self._chunk_size() if chunked else self._length()
        while left != 0:
            data = await self._connection.some(_MOST if left is None else min(left, _MOST))
            if not data and left is None:
                return
            if not data:
                raise ConnectionError("closed inside a body")
            yield data
            if left is not None:
                left -= len(data)
            if chunked and not left:
                await self._connection.line()
                left = await self._chunk_size()
        if chunked:
            await self._connection.line()
        self._connection.reusable = True

    async def _chunk_size(self) -> int:
        return int(await self._connection.line(), 16)

    def _length(self) -> int | None:
        """How many bytes the body has; `None` where the connection's end is its end."""
        length = 0 if self.status_code in _WITHOUT_BODY else self.headers.get("content-length")
        return None if length is None else int(length)


_WITHOUT_BODY = frozenset({204, 304})
_MOST = 1_048_576


@functools.cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
