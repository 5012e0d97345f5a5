"""One connection of the loopback provider: requests parsed with h11, scripts played step by step."""

from __future__ import annotations

import asyncio
import functools
import socket
import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import h11

from treelang_conformance.provider.framing import ScriptError, encode_data, encode_end, encode_head, keeps_promise
from treelang_conformance.provider.record import Connection, ConnectionState, RecordedRequest
from treelang_conformance.provider.script import Close, Raw, Reply, Reset, Script, Send, Stall, Step, Wait

ScriptSource: TypeAlias = Callable[[RecordedRequest], Script]
"""Takes down a request and says what to answer."""

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER, on, zero seconds


class ConnectionHandler(asyncio.Protocol):
    """Serves one connection, in the provider's thread.

    Bytes arrive by callback while a script plays in a task of its own. So the client's FIN or RST is noticed at
    once, also during a stall or at a gate, and ends the script.
    """

    _transport: asyncio.Transport  # from `connection_made` on
    _request: h11.Request  # from the first request on

    def __init__(
        self,
        record: Connection,
        source: ScriptSource,
        changed: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.record = record
        self.playing: asyncio.Task[None] | None = None
        self._source = source
        self._changed = changed
        self._failed = failed
        self._made = False
        self._dropped = False
        self._http = h11.Connection(h11.SERVER)
        self._body = bytearray()
        self._writable = asyncio.Event()
        self._writable.set()

    # --- callbacks of the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless the provider was stopped just before."""
        self._transport = cast("asyncio.Transport", transport)
        self._made = True
        # The event loop does so only for sockets that were made with a protocol number. Without it a body would
        # wait 40 ms for the client to acknowledge the head.
        self._transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._changed()
        if self._dropped:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived."""
        self._http.receive_data(data)
        if self.record.state is ConnectionState.IDLE:
            self._set_state(ConnectionState.BUSY)
        self._read_on()

    def eof_received(self) -> None:
        """Take the client for gone, since no HTTP client half-closes; returning `None` closes our side."""
        self._end("closed by the client")

    def connection_lost(self, exc: Exception | None) -> None:
        """Take down the end, whoever brought it about."""
        self._end("reset by the client" if exc else "closed by the provider")
        self._set_state(ConnectionState.CLOSED)

    def pause_writing(self) -> None:
        """Hold the script, because the client reads more slowly than it plays."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let the script go on."""
        self._writable.set()

    # --- receiving ---

    def _read_on(self) -> None:
        """Take what has arrived; start to answer once a request is complete."""
        if self.playing is not None:
            return  # a request sent ahead waits in h11's buffer
        try:
            while True:
                match self._http.next_event():
                    case h11.Request() as request:
                        self._request = request
                        self._body.clear()
                    case h11.Data(data=data):
                        self._body += data
                    case h11.EndOfMessage():
                        self._answer(self._recorded())
                        return
                    case _:
                        return
        except h11.RemoteProtocolError:
            self._end("closed by the provider: what came was not HTTP")
            self._transport.close()

    def _recorded(self) -> RecordedRequest:
        return RecordedRequest(
            connection=self.record.id,
            method=self._request.method.decode("ascii"),
            path=self._request.target.decode("ascii"),
            headers={name.decode("ascii"): value.decode("latin-1") for name, value in self._request.headers},
            body=bytes(self._body),
        )

    def _answer(self, request: RecordedRequest) -> None:
        self.record.received(request)
        try:
            # Not left to the task, which is cancelled before it starts when the client leaves at once.
            script = self._source(request)
        except Exception as error:  # whatever a check's function raises is the check's fault
            self._failed(error)
            self._close()
        else:
            self.playing = asyncio.get_running_loop().create_task(self._play(script))

    def _next_cycle(self) -> None:
        ahead, _ = self._http.trailing_data
        self._http = h11.Connection(h11.SERVER)
        self.playing = None
        self._set_state(ConnectionState.IDLE)
        if ahead:
            self.data_received(ahead)

    # --- answering ---

    async def _play(self, script: Script) -> None:
        try:
            reusable = await self._play_script(script)
        except Exception as error:  # a script that cannot be played is the check's fault
            self._failed(error)
            reusable = False
        if reusable and self._http.their_state is h11.DONE:
            self._next_cycle()
        else:
            self._close()

    async def _play_script(self, script: Script) -> bool:
        """Play to the end and return whether the connection can be used again."""
        match script:
            case Raw(steps=steps):
                await self._play_steps(steps, _as_it_is)
                return False
            case Reply():
                if not await self._play_steps(script.before, _nothing_to_send):
                    return False
                head = encode_head(script)
                await self._write(head, shown=head)
                if not await self._play_steps(script.body, functools.partial(encode_data, script.framing)):
                    return False
                await self._write(encode_end(script.framing))
                return keeps_promise(script)

    async def _play_steps(self, steps: Sequence[Step], encode: Callable[[bytes], bytes]) -> bool:
        """Play the steps and return whether the connection is still open after them."""
        for step in steps:
            match step:
                case Send(data=data):
                    await self._write(encode(data), shown=data)
                case Wait(gate=gate):
                    await gate.pass_through()
                case Stall():
                    await asyncio.Event().wait()  # ended by cancellation alone
                case Close():
                    self._close()
                    return False
                case Reset():
                    self._reset()
                    return False
        return True

    async def _write(self, data: bytes, *, shown: bytes = b"") -> None:
        """Write `data`; a transcript shows `shown`, the same without its framing."""
        self.record.sent(shown)
        self._transport.write(data)
        await self._writable.wait()
        # One turn of the loop between two writes: the socket takes each at once, and other connections go on.
        await asyncio.sleep(0)

    def _close(self) -> None:
        self._end("closed by the provider")
        self._transport.close()

    def _reset(self) -> None:
        self._end("reset by the provider")
        connection: socket.socket = self._transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._transport.abort()

    # --- ending ---

    def drop(self) -> None:
        """Close without flushing, because the provider stops."""
        self._end("closed by the provider, which was stopped")
        self._dropped = True
        if self._made:
            self._transport.abort()

    def _end(self, reason: str) -> None:
        """Keep the first reason; what comes after it is only its consequence."""
        self.record.ending = self.record.ending or reason
        if self.playing is not None and self.playing is not asyncio.current_task():
            self.playing.cancel()

    def _set_state(self, state: ConnectionState) -> None:
        self.record.state = state
        self._changed()


def _as_it_is(data: bytes) -> bytes:
    return data


def _nothing_to_send(data: bytes) -> bytes:
    raise ScriptError("a Reply cannot send before its status line; play it with Raw")
