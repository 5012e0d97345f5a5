"""What the loopback provider plays: replies as frozen scripts of steps, ordered by gates and never by delays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from treelang_conformance.json_text import encode_json
from treelang_conformance.provider.signals import Changes

Framing: TypeAlias = Literal["length", "chunked", "close"]
"""How the end of a body is told: by Content-Length, by chunked encoding, or by closing the connection."""


EVENT_STREAM = "text/event-stream"
"""The content type of server-sent events."""


class Gate:
    """A point in a reply at which the provider waits until the check opens it.

    The provider plays in a thread of its own, so both sides wait across event loops.
    """

    def __init__(self, name: str = "gate") -> None:
        self.name = name
        self._changes = Changes()
        self._reached = False
        self._opened = False

    def __repr__(self) -> str:
        state = "open" if self._opened else "reached" if self._reached else "ahead"
        return f"Gate({self.name!r}, {state})"

    def open(self) -> None:
        """Let the provider go on; opening twice is harmless."""
        self._opened = True
        self._changes.notify()

    async def reached(self) -> None:
        """Return once the provider stands at this gate. The caller bounds the wait."""
        await self._changes.until(lambda: self._reached)

    async def pass_through(self) -> None:
        """The provider's side: announce that the gate is reached and wait until it is open."""
        self._reached = True
        self._changes.notify()
        await self._changes.until(lambda: self._opened)


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes written and flushed at once; in a `Reply` body under the reply's framing, in `Raw` as they are."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait at a gate."""

    gate: Gate


@dataclass(frozen=True, slots=True)
class Stall:
    """Hold the connection open and send nothing more until the client leaves or the check ends."""


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection (FIN), whatever the framing has promised."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the connection (RST)."""


Step: TypeAlias = Send | Wait | Stall | Close | Reset


@dataclass(frozen=True, slots=True)
class Reply:
    """A well-formed response whose body is played step by step.

    `before` is played before the status line; only `Wait`, `Stall`, `Close` and `Reset` make sense there.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Sequence[Step] = ()
    framing: Framing = "length"
    before: Sequence[Step] = ()

    @classmethod
    def json(cls, value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
        """A JSON response with Content-Length."""
        data = encode_json(value).encode()
        return cls.bytes(data, status=status, headers={"content-type": "application/json", **(headers or {})})

    @classmethod
    def bytes(cls, data: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
        """A response of exactly these bytes with Content-Length."""
        return cls(status=status, headers=headers or {}, body=(Send(data),) if data else ())

    @classmethod
    def event_stream(cls, *steps: Step, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
        """A chunked `text/event-stream` response."""
        return cls(
            status=status,
            headers={"content-type": EVENT_STREAM, **(headers or {})},
            body=steps,
            framing="chunked",
        )


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes on the socket with no HTTP help: half headers, garbage, bodies shorter than promised."""

    steps: Sequence[Step]


Script: TypeAlias = Reply | Raw
