"""The loopback provider: a scripted HTTP server on 127.0.0.1 that records requests and what became of connections."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from treelang_conformance.provider.connection import ConnectionHandler, ScriptSource
from treelang_conformance.provider.framing import ScriptError
from treelang_conformance.provider.record import Connection, ConnectionState, RecordedRequest
from treelang_conformance.provider.script import Reply, Script
from treelang_conformance.provider.signals import Changes
from treelang_conformance.provider.thread import ProviderThread
from treelang_conformance.provider.transcript import render

_STOP_SECONDS = 10.0
"""How long a client that goes on connecting may keep the provider from stopping."""

_BACKLOG = 4096  # more than any check opens at once: a full backlog would delay connections by a second

_NOT_SCRIPTED = Reply.json(
    {"error": {"message": "No reply was scripted for this request.", "type": "not_scripted"}}, status=500
)


class Provider:
    """One listening socket that plays scripts; a context manager, usable from any thread and any event loop.

    Every request takes the next script of the queue. Waits are without bound: the caller bounds them.
    """

    def __init__(self) -> None:
        self._changes = Changes()
        self._queue: deque[Script] = deque()
        self._answer: ScriptSource | None = None
        self._requests: list[RecordedRequest] = []
        self._connections: list[Connection] = []
        self._handlers: list[ConnectionHandler] = []
        self._errors: list[Exception] = []
        self._unscripted = 0
        self._stopping = False
        self._thread = ProviderThread.shared()

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self._port: int = self._socket.getsockname()[1]
        self._thread.run(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close everything. Raises `ScriptError` when a script could not be played: nothing was proven then."""
        self._thread.run(self._stop())
        if self._errors:
            first = self._errors[0]
            raise first if isinstance(first, ScriptError) else ScriptError(f"a script failed: {first!r}") from first

    def __repr__(self) -> str:
        return f"Provider({len(self._requests)} requests on {len(self._connections)} connections)"

    # --- scripting ---

    def reply(self, *scripts: Script) -> None:
        """Queue replies, one for each request to come."""
        self._queue.extend(scripts)

    def answer_by(self, function: ScriptSource) -> None:
        """Let `function` choose the reply to every request that finds the queue empty; it runs in another thread."""
        self._answer = function

    # --- what was seen ---

    @property
    def url(self) -> str:
        """Scheme, host and port, with no path."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Every request received whole so far, in order."""
        return tuple(self._requests)

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Every connection opened so far, in order; each is a live view."""
        return tuple(self._connections)

    @property
    def unscripted(self) -> int:
        """How many requests came for which nothing was scripted; they were answered with status 500."""
        return self._unscripted

    def transcript(self) -> str:
        """The exchange on the wire in readable form, credentials masked, for failure messages."""
        return render(self.connections)

    # --- waiting ---

    async def until(self, predicate: Callable[[], object]) -> None:
        """Return once `predicate` holds; it is looked at again whenever something happens at the provider."""
        await self._changes.until(predicate)

    async def request_received(self, count: int = 1) -> None:
        """Return once `count` requests have been received whole."""
        await self.until(lambda: len(self._requests) >= count)

    async def released(self, connection: int | None = None) -> None:
        """Return once a connection is closed or idle; without `connection`: once every one of at least one is."""
        await self._all_in({ConnectionState.CLOSED, ConnectionState.IDLE}, connection)

    async def closed(self, connection: int | None = None) -> None:
        """Return once a connection is closed; without `connection`: once every one of at least one is."""
        await self._all_in({ConnectionState.CLOSED}, connection)

    async def _all_in(self, states: set[ConnectionState], connection: int | None) -> None:
        def reached() -> bool:
            seen = self.connections
            watched = seen if connection is None else seen[connection : connection + 1]
            return bool(watched) and all(one.state in states for one in watched)

        await self.until(reached)

    # --- in the provider's thread ---

    async def _start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(self._accept, sock=self._socket)

    async def _stop(self) -> None:
        self._stopping = True
        # What was accepted a moment ago becomes a connection in the next turn of the loop, but not with a server that
        # is closed by then: the event loop would forget it, and nobody would ever see its end.
        asyncio.get_running_loop().remove_reader(self._socket)
        await asyncio.sleep(0)
        self._server.close()
        for handler in self._handlers:
            handler.drop()
        playing = [handler.playing for handler in self._handlers if handler.playing is not None]
        await asyncio.gather(*playing, return_exceptions=True)
        async with asyncio.timeout(_STOP_SECONDS):
            await self.until(lambda: all(one.state is ConnectionState.CLOSED for one in self.connections))
            await self._server.wait_closed()
        # All that leads back here, or a check would leave cycles that pile up until the collector comes.
        for handler in self._handlers:
            handler.playing = None
        self._handlers.clear()
        del self._server

    def _accept(self) -> ConnectionHandler:
        record = Connection(id=len(self._connections))
        handler = ConnectionHandler(record, self._script_for, self._changes.notify, self._errors.append)
        self._connections.append(record)
        self._handlers.append(handler)
        if self._stopping:
            handler.drop()  # accepted by the event loop just before the server was closed
        return handler

    def _script_for(self, request: RecordedRequest) -> Script:
        self._requests.append(request)
        self._changes.notify()
        if self._queue:
            return self._queue.popleft()
        if self._answer is not None:
            return self._answer(request)
        self._unscripted += 1
        return _NOT_SCRIPTED
