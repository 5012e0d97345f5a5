"""Mutants of CAN: calls that are cancelled, what the caller sees of it, and what the provider does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

from tests.conformance.mutants.client import Connection, LeanClient
from tests.conformance.mutants.mutation import CHAT, MESSAGES, RESPONSES, LeakingClient, Mutation, mutant
from treelang import ModelRequest, ModelTimeoutError, ProviderResponseError
from treelang_conformance.endpoint import Endpoint


class CancelledMutation(Mutation):
    """An adapter that does something of its own when a call is cancelled while it waits for the provider."""

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        """Called before the cancellation is passed on; what it raises is raised in its place."""
        raise NotImplementedError

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except asyncio.CancelledError as error:
            await self.on_cancelled(error, request, begun=False)
            raise

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        begun = False
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except asyncio.CancelledError as error:
                    await self.on_cancelled(error, request, begun=begun)
                    raise
                if chunk is None:
                    return
                yield chunk
                begun = True


@mutant("CAN-1", wires=(CHAT, RESPONSES, MESSAGES))
class LosesTheMessageAfterAChunk(CancelledMutation):
    """A stream cancelled after a chunk raises a `CancelledError` of its own, without the canceller's message."""

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        if begun:
            raise asyncio.CancelledError


@mutant(
    "CAN-1",
    touches={"CAN-5": "its deadline cancels the call too", "ERR-12": "its deadline cancels the call too"},
)
class EndsAStreamThatIsCancelledAfterAChunk(Mutation):
    """A stream that is cancelled after a chunk ends as if it were whole."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        begun = False
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except asyncio.CancelledError:
                    if begun:
                        return
                    raise
                if chunk is None:
                    return
                yield chunk
                begun = True


class _NoHandshakeIsNoLine(LeanClient):
    async def connect(self) -> Connection:
        try:
            return await super().connect()
        except asyncio.CancelledError as error:
            raise ConnectionError("cannot connect") from error


@mutant("CAN-1", wires=(CHAT, MESSAGES))
class TakesACancellationInConnectingForALostLine(Mutation):
    """A call that is cancelled while it connects raises a lost connection."""

    client_class = _NoHandshakeIsNoLine


@mutant("CAN-2", wires=(CHAT, MESSAGES))
class FallsBackWhenAStrictCallIsCancelled(CancelledMutation):
    """A strict call that is cancelled asks once more without the schema before it passes the cancellation on."""

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        if "response_format" in request:
            plain = {key: value for key, value in request.items() if key != "response_format"}
            with contextlib.suppress(ProviderResponseError):
                await Mutation.complete(self, plain)


@mutant("CAN-2")
class RepeatsACancelledCallBeforeTheNext(CancelledMutation):
    """The call after a strict one that was cancelled makes up for it first."""

    _missed: ModelRequest | None = None

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        if "response_format" in request:
            self._missed = request

    async def complete(self, request: ModelRequest) -> str:
        await self._make_up()
        return await super().complete(request)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        await self._make_up()
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _make_up(self) -> None:
        missed, self._missed = self._missed, None
        if missed is not None:
            with contextlib.suppress(ProviderResponseError):
                await Mutation.complete(self, missed)


class _KeepsACancelledFailure(LeakingClient):
    def leaks(self, connection: Connection, leaving: BaseException | None) -> bool:
        return isinstance(leaving, asyncio.CancelledError) and connection.status == 500


@mutant("CAN-3", wires=(CHAT, MESSAGES))
class KeepsTheConnectionOfACancelledFailure(Mutation):
    """A call that is cancelled while the body of a failing response comes does not release its connection."""

    client_class = _KeepsACancelledFailure


class _KeepsWhatIsCancelled(LeakingClient):
    def leaks(self, connection: Connection, leaving: BaseException | None) -> bool:
        return isinstance(leaving, asyncio.CancelledError) and connection.status == 200


@mutant("CAN-3", wires=(RESPONSES,))
class KeepsTheConnectionOfACancelledAnswer(Mutation):
    """A call that is cancelled inside its answer does not release its connection."""

    client_class = _KeepsWhatIsCancelled


class _KeepsTheUnanswered(LeakingClient):
    def leaks(self, connection: Connection, leaving: BaseException | None) -> bool:
        return isinstance(leaving, asyncio.CancelledError) and connection.status is None


@mutant("CAN-3", wires=(CHAT, MESSAGES))
class KeepsTheConnectionThatHasNotAnswered(Mutation):
    """A call that is cancelled before the headers of its answer does not release its connection."""

    client_class = _KeepsTheUnanswered


@mutant("CAN-4", wires=(CHAT, MESSAGES))
class LosesAPlaceForEachCancelledCall(Mutation):
    """At most fifty calls run at once, and one that is cancelled never gives its place back."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._places = asyncio.Semaphore(50)

    async def complete(self, request: ModelRequest) -> str:
        await self._places.acquire()
        try:
            text = await super().complete(request)
        except Exception:
            self._places.release()
            raise
        self._places.release()
        return text


@mutant("CAN-4")
class LosesAPlaceForEachCancelledStream(Mutation):
    """At most forty streams run at once, and one that is cancelled never gives its place back."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._places = asyncio.Semaphore(40)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        await self._places.acquire()
        cancelled = False
        try:
            async with contextlib.aclosing(super()._stream(request)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            if not cancelled:
                self._places.release()


@mutant(
    "CAN-5",
    "ERR-12",
    wires=(CHAT, MESSAGES),
    touches={"CAN-1": "a task group cancels without a message too"},
)
class TakesACancellationWithoutAMessageForATimeout(CancelledMutation):
    """A call that is cancelled without a message, as deadlines do it, raises the timeout of a provider."""

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        if not error.args:
            raise ModelTimeoutError("The provider is slow.", provider=self._provider)


class _TracksItsConnections(LeanClient):
    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.made: list[Connection] = []

    async def connect(self) -> Connection:
        self.made.append(await super().connect())
        return self.made[-1]


@mutant("CAN-6", wires=(CHAT, RESPONSES, MESSAGES))
class ClosesAllConnectionsWhenOneCallIsCancelled(CancelledMutation):
    """A cancelled call closes the client, and with it the connections of all other calls."""

    client_class = _TracksItsConnections

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        for connection in self._client.made:
            connection.abort()


@mutant("CAN-6", wires=(CHAT, MESSAGES))
class EndsAllStreamsWhenOneIsCancelled(CancelledMutation):
    """A stream ends at its next chunk when another call on the transport has been cancelled since it began."""

    _cancelled = 0

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        self._cancelled += 1

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        cancelled = self._cancelled
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                if self._cancelled != cancelled:
                    return
                yield chunk


@mutant("CAN-7", wires=(CHAT, MESSAGES))
class CleansUpInATaskOfItsOwn(CancelledMutation):
    """A cancelled call starts a task for its cleaning up, and does not wait for it."""

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        self._cleaning = asyncio.create_task(asyncio.sleep(60))


@mutant("CAN-7")
class LeavesAFailureThatNobodyTakes(CancelledMutation):
    """A stream that is cancelled after a chunk leaves the failure of a task behind, which nobody retrieves."""

    async def on_cancelled(self, error: asyncio.CancelledError, request: ModelRequest, *, begun: bool) -> None:
        if begun:
            asyncio.create_task(self._fail())  # noqa: RUF006  # that nobody holds it is what is wrong with it

    async def _fail(self) -> None:
        raise ConnectionError("already closed")


class _KeepsWhatACancelledTaskCloses(LeakingClient):
    closer_is_cancelled = False

    def leaks(self, connection: Connection, leaving: BaseException | None) -> bool:
        return isinstance(leaving, GeneratorExit) and self.closer_is_cancelled


@mutant("CAN-8", wires=(CHAT, MESSAGES))
class ClosesNothingInACancelledTask(Mutation):
    """A stream that is closed early by a task which is being cancelled does not release its connection."""

    client_class = _KeepsWhatACancelledTaskCloses

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            try:
                async for chunk in chunks:
                    yield chunk
            except GeneratorExit:
                task: Any = asyncio.current_task()
                self._client.closer_is_cancelled = task.cancelling() > 0
                raise


class _KeepsWhatAnotherTaskCloses(LeakingClient):
    closed_by_another = False

    def leaks(self, connection: Connection, leaving: BaseException | None) -> bool:
        return isinstance(leaving, GeneratorExit) and self.closed_by_another


@mutant("CAN-8", wires=(CHAT, MESSAGES), touches={"CAN-3": "it closes a stream in a task of its own too"})
class ClosesNothingFromAnotherTask(Mutation):
    """A stream that is closed by another task than the one that read it does not release its connection."""

    client_class = _KeepsWhatAnotherTaskCloses

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        reader = asyncio.current_task()
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            try:
                async for chunk in chunks:
                    yield chunk
            except GeneratorExit:
                self._client.closed_by_another = asyncio.current_task() is not reader
                raise
