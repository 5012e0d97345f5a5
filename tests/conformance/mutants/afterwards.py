"""Mutants that are not done when the call is over: what they send, release or wait for comes late."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncGenerator
from typing import Any

from tests.conformance.mutants.cancellation import CancelledMutation
from tests.conformance.mutants.client import Connection, LeanClient
from tests.conformance.mutants.mutation import CHAT, MESSAGES, RESPONSES, LeakingClient, Mutation, mutant
from tests.conformance.mutants.streaming import RecodedResponse
from treelang import ModelConnectionError, ModelRequest, ProviderResponseError, UsageRecord
from treelang.transports.answer import AnswerState

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())

# --- requests ---


@mutant("CAN-2", wires=(CHAT, MESSAGES))
class SendsACancelledCallAgainLater(CancelledMutation):
    """A strict call that is cancelled is sent again half a second later, when nobody waits for it any more."""

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        if "response_format" in request:
            asyncio.get_running_loop().call_later(0.5, self._begin_again, request)

    def _begin_again(self, request: ModelRequest) -> None:
        self._again = asyncio.create_task(self._send(request))

    async def _send(self, request: ModelRequest) -> None:
        with contextlib.suppress(ProviderResponseError):
            await Mutation.complete(self, request)


@mutant("CAN-2")
class FallsBackInATaskThatEndsSoon(CancelledMutation):
    """A strict call that is cancelled leaves a task behind, which waits for a moment and asks without the schema."""

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        if "response_format" in request:
            plain = {key: value for key, value in request.items() if key != "response_format"}
            self._falling_back = asyncio.create_task(self._send_soon(plain))

    async def _send_soon(self, request: ModelRequest) -> None:
        await asyncio.sleep(0.1)
        with contextlib.suppress(ProviderResponseError):
            await Mutation.complete(self, request)


# --- connections ---


@mutant("STR-10", wires=(CHAT, MESSAGES), touches={"CAN-8": "a consumer that is cancelled closes its stream early"})
class LeavesClosingToTheCollector(Mutation):
    """A stream that is closed early drops the generator under it without closing that."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async for chunk in super()._stream(request):
            yield chunk


@mutant("STR-10")
class WarnsOfAnEarlyClose(Mutation):
    """Closing a stream early logs a warning."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            try:
                async for chunk in chunks:
                    yield chunk
            except GeneratorExit:
                _log.warning("A stream was not read to its end.")
                raise


class _KeepsWhatIsClosedEarly(LeakingClient):
    def leaks(self, connection: Connection, leaving: BaseException | None) -> bool:
        return isinstance(leaving, GeneratorExit)


@mutant(
    "STR-10",
    touches={
        "CAN-3": "it closes streams early too, and cancels the closing",
        "CAN-8": "a consumer that is cancelled closes its stream early",
        "STR-14": "it asks what becomes of the connection too",
    },
)
class KeepsTheConnectionOfAStreamClosedEarly(Mutation):
    """The connection of a stream that is closed early is not released."""

    client_class = _KeepsWhatIsClosedEarly


class _ReleasesLater(LeanClient):
    def release(self, connection: Connection) -> None:
        if isinstance(sys.exception(), GeneratorExit):
            asyncio.get_running_loop().call_later(0.2, super().release, connection)
        else:
            super().release(connection)


@mutant("STR-10", wires=(CHAT, RESPONSES, MESSAGES))
class ReleasesAStreamClosedEarlyLater(Mutation):
    """The connection of a stream that is closed early is released a fifth of a second later."""

    client_class = _ReleasesLater


class _ReleasesInATask(LeanClient):
    def release(self, connection: Connection) -> None:
        if isinstance(sys.exception(), GeneratorExit):
            self._releasing = asyncio.create_task(self._release_soon(connection))
        else:
            super().release(connection)

    async def _release_soon(self, connection: Connection) -> None:
        await asyncio.sleep(0.05)
        super().release(connection)


@mutant("STR-10")
class ReleasesAStreamClosedEarlyInATask(Mutation):
    """The connection of a stream that is closed early is released by a task for which nobody waits."""

    client_class = _ReleasesInATask


@mutant("CMP-10", wires=(CHAT, MESSAGES))
class DiesOfAbandonedStreams(Mutation):
    """After eleven streams that were closed early no further one is served."""

    _abandoned = 0

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        if self._abandoned >= 11:
            raise ModelConnectionError("The pool is exhausted.", provider=self._provider)
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            try:
                async for chunk in chunks:
                    yield chunk
            except GeneratorExit:
                self._abandoned += 1
                raise


# --- ends ---


class _TellsWhatStaysOpen(LeanClient):
    stays_open = False

    def release(self, connection: Connection) -> None:
        self.stays_open = not connection.reusable and sys.exception() is None
        super().release(connection)


@mutant("STR-15", wires=(CHAT, RESPONSES, MESSAGES))
class WaitsForTheBodysEnd(Mutation):
    """A stream that is whole ends 0.6 seconds late where its body stays open."""

    client_class = _TellsWhatStaysOpen

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk
        if self._client.stays_open:
            await asyncio.sleep(0.6)


@mutant("STR-15", wires=(RESPONSES, MESSAGES))
class ReadsOnToTheBodysEnd(Mutation):
    """A stream goes on after the terminal event for as long as the body is open."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        answer.over = False
        return text


class _EndlessResponse(RecodedResponse):
    def recoded(self, data: bytes) -> bytes:
        return data.replace(b"data: [DONE]\n\n", b"")


@mutant("STR-15")
class DoesNotKnowDone(Mutation):
    """A stream passes `[DONE]` over, and goes on for as long as the body is open."""

    response_class = _EndlessResponse
