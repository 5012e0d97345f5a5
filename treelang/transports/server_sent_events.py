"""Server-sent events from bytes, without I/O: the result does not depend on how the bytes were cut (STR-3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One event that has data; its lines are joined by LF. `name` is empty where no `event:` line came."""

    name: str
    data: bytes


class EventDecoder:
    """Lines end in LF, CR or CRLF; comments, `id:` and `retry:` lines and events without data yield nothing."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._name = ""
        self._data: list[bytes] = []
        self._after_carriage_return = False
        self._at_start = True

    def feed(self, received: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that these bytes complete."""
        if self._after_carriage_return and received:
            # The CR ended its line at once, so that no event waits for the byte behind it.
            received = received.removeprefix(b"\n")
            self._after_carriage_return = False
        self._partial.append(received)
        if b"\n" not in received and b"\r" not in received:
            return
        lines = b"".join(self._partial).splitlines(keepends=True)
        self._after_carriage_return = received.endswith(b"\r")
        self._partial = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
        for line in lines:
            event = self._take_line(line.rstrip(b"\r\n"))
            if event is not None:
                yield event

    def end(self) -> Iterator[ServerSentEvent]:
        """Yield the event that the end of the body leaves without its blank line: some servers end so."""
        yield from self.feed(b"\n\n")

    def _take_line(self, line: bytes) -> ServerSentEvent | None:
        if self._at_start:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._at_start = False
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode(errors="replace")
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        data, name = b"\n".join(self._data), self._name
        self._data, self._name = [], ""
        return ServerSentEvent(name, data) if data else None
