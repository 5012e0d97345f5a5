"""Mutants of STR: which chunks come and when, and how streams end; what comes after the end is in `afterwards`."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from tests.conformance.mutants.client import Connection, Response
from tests.conformance.mutants.mutation import (
    CHAT,
    MESSAGES,
    RESPONSES,
    ChunkMutation,
    ErrorMutation,
    LeakingClient,
    Moment,
    Mutation,
    mutant,
    remade,
)
from treelang import (
    ModelConnectionError,
    ModelRequest,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    UsageRecord,
)
from treelang.transports.answer import AnswerState

# --- STR-1 and STR-2: the chunks ---


@mutant("STR-1", wires=(CHAT, RESPONSES, MESSAGES))
class DropsALoneLineFeed(ChunkMutation):
    """A chunk that is nothing but a line feed is taken for an empty one."""

    async def altered(self, chunks: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        async for chunk in chunks:
            if chunk != "\n":
                yield chunk


@mutant("STR-1", wires=(CHAT, MESSAGES))
class BreaksACharacterCutInTwo(Mutation):
    """Each half of a character whose escapes stand in two events becomes a question mark."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        return super()._read_event(event, answer, usage).encode(errors="replace").decode()


@mutant("STR-1", touches={"STR-4": "it too looks at every chunk"})
class EndsWithAnEmptyChunk(ChunkMutation):
    """A stream that came to its end yields an empty chunk at last."""

    async def altered(self, chunks: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        async for chunk in chunks:
            yield chunk
        yield ""


@mutant("STR-2", wires=(CHAT, MESSAGES))
class HoldsAChunkThatEndsInASymbol(ChunkMutation):
    """A chunk that ends outside ASCII waits for the next one, which might change its last character."""

    async def altered(self, chunks: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        held = ""
        try:
            async for chunk in chunks:
                held += chunk
                if held[-1].isascii():
                    yield held
                    held = ""
        except ProviderResponseError:
            if held:
                yield held
            raise
        if held:
            yield held


# --- STR-3 and STR-4: bytes and events ---


class RecodedResponse(Response):
    """A response whose bytes are changed on their way in."""

    def recoded(self, data: bytes) -> bytes:
        raise NotImplementedError

    async def iter_bytes(self) -> AsyncIterator[bytes]:
        async with contextlib.aclosing(super().iter_bytes()) as received:  # type: ignore[type-var]
            async for data in received:
                yield self.recoded(data)


class _DecodedResponse(RecodedResponse):
    def recoded(self, data: bytes) -> bytes:
        return data.decode(errors="replace").encode() if len(data) < 16 else data


@mutant("STR-3", wires=(CHAT, MESSAGES))
class DecodesEachReadByItself(Mutation):
    """A character whose bytes come in two reads of a few bytes becomes replacement characters."""

    response_class = _DecodedResponse


class _LineFeedResponse(RecodedResponse):
    def recoded(self, data: bytes) -> bytes:
        return data.replace(b"\r", b"\x00")


@mutant("STR-3", wires=(CHAT, MESSAGES))
class KnowsNoLineEndButLineFeed(Mutation):
    """CR before LF counts as a character of the line."""

    response_class = _LineFeedResponse


@mutant("STR-3")
class CutsLargeEvents(Mutation):
    """What an event adds to the text is cut to 200 kB."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        return text.encode()[:200_000].decode(errors="ignore") if len(text) > 50_000 else text


class _CommentResponse(RecodedResponse):
    def recoded(self, data: bytes) -> bytes:
        return data.replace(b"\n:", b"\ndata:") if data.startswith(b":") else data


@mutant("STR-3")
class TakesTheSecondCommentForData(Mutation):
    """Of comments that come together the first is skipped, and the others are taken for events."""

    response_class = _CommentResponse


@mutant("STR-4")
class YieldsEveryChoice(Mutation):
    """The text of a second choice is yielded too."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        match event:
            case {"choices": [{"index": 1} as choice]}:
                event = {**event, "choices": [{**choice, "index": 0}]}
        return super()._read_event(event, answer, usage)


@mutant("STR-4", touches={"STR-7": "it reports an error behind such a chunk too"})
class EndsAtAnEmptyListOfChoices(Mutation):
    """A chunk without choices is taken for the last one, as it is where usage was asked for."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        answer.over = answer.over or event.get("choices") == []
        return text


@mutant("STR-4", wires=(MESSAGES,))
class FailsOnANullDelta(Mutation):
    """A delta that is null makes the stream malformed."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        if event.get("type") == "content_block_delta" and event.get("delta", ...) is None:
            answer.malformed = "a delta is null"
        return super()._read_event(event, answer, usage)


@mutant(
    "STR-4",
    wires=(MESSAGES,),
    touches={
        "CMP-7": "an unknown block alone is among the answers to be refused",
        "STR-1": "unknown blocks are among the answers that it streams",
    },
)
class TakesTheTextOfAnUnknownDelta(Mutation):
    """A delta of an unknown type is yielded where it has a text."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        match event:
            case {"type": "content_block_delta", "delta": {"type": "x_unheard_of_delta", "text": str(text)}}:
                return text
        return super()._read_event(event, answer, usage)


# --- STR-5 to STR-9: ends ---


@mutant("STR-5")
class TakesAFullStopForTheSignOfCompletion(ChunkMutation):
    """A stream that ends without a finish reason is whole if its last chunk ends with a full stop."""

    async def altered(self, chunks: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        last = ""
        try:
            async for last in chunks:
                yield last
        except ProviderResponseError as error:
            if not (last.endswith(".") and "sign of completion" in str(error)):
                raise


@mutant("STR-5", wires=(MESSAGES,))
class TakesTheStopReasonForTheEnd(Mutation):
    """A stream is whole once the stop reason came, though `message_stop` does not."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        answer.completed = answer.completed or answer.finish is not None
        return text


@mutant("STR-6", touches={"USE-8": "the answer is not refused there either"})
class TakesAFilteredStreamForWhole(Mutation):
    """A stream that the provider's content filter ended is a whole answer."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        answer.finish = "stop" if answer.finish == "content_filter" else answer.finish
        return text


@mutant("STR-6", wires=(MESSAGES,), touches={"USE-8": "the answer is not refused there either"})
class TakesAFullContextForTheEnd(Mutation):
    """A stream that filled the model's context window is a whole answer."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        answer.finish = "end_turn" if answer.finish == "model_context_window_exceeded" else answer.finish
        return text


class LastChunkMutation(Mutation):
    """An adapter that forgives a failure for the sake of the last chunk."""

    def forgives(self, error: ProviderResponseError, last: str) -> bool:
        raise NotImplementedError

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        last = ""
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    last = await anext(chunks)
                except StopAsyncIteration:
                    return
                except ProviderResponseError as error:
                    if self.forgives(error, last):
                        return
                    raise
                yield last


@mutant("STR-7", wires=(CHAT, RESPONSES, MESSAGES))
class ForgivesAnErrorEventAfterAFullStop(LastChunkMutation):
    """An error event is taken for the end of the stream where the text before it ends with a full stop."""

    def forgives(self, error: ProviderResponseError, last: str) -> bool:
        return type(error) is ModelTransportError and error.status_code is None and last.endswith(".")


@mutant("STR-7", "ERR-11", wires=(CHAT, MESSAGES))
class ForgetsThePermissionAfterAChunk(ErrorMutation):
    """A missing permission that is reported after a chunk is an error of no special kind."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if moment is Moment.AFTER_A_CHUNK and error.code in ("forbidden", "permission_error"):
            return remade(error, ModelTransportError)
        return error


@mutant("STR-8", wires=(CHAT, MESSAGES))
class ForgivesALostLineAfterAFullStop(LastChunkMutation):
    """A lost connection is the end of the stream where the text before it ends with a full stop."""

    def forgives(self, error: ProviderResponseError, last: str) -> bool:
        return isinstance(error, ModelConnectionError) and last.endswith(".")


_LOOKS_AT_THE_SAME_ERROR = {
    "ERR-6": "it asks this error too for its provider",
    "ERR-7": "it asks this error too for its status",
    "ERR-9": "it asks this error too for its cause",
    "ERR-13": "it copies this error too",
}


@mutant("STR-8", "ERR-4", touches=_LOOKS_AT_THE_SAME_ERROR)
class LetsTheLibrarysErrorOutAfterAChunk(ErrorMutation):
    """After a chunk a lost connection leaves the stream as the exception that the HTTP library raised."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        lost = moment is Moment.AFTER_A_CHUNK and isinstance(error, ModelConnectionError)
        return ConnectionResetError("reset by peer") if lost else error


@mutant("STR-9", "ERR-3")
class TakesAStallForALostLine(ErrorMutation):
    """A stall after a chunk is a lost connection."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        stalled = moment is Moment.AFTER_A_CHUNK and isinstance(error, ModelTimeoutError)
        return remade(error, ModelConnectionError) if stalled else error


# --- STR-11 to STR-13: streams beside each other, streams that fail, long streams ---


@mutant("STR-11", "CMP-9", wires=(CHAT, MESSAGES))
class KeepsTheChunkOnTheTransport(ChunkMutation):
    """With five streams open, a chunk waits in an attribute for a hundredth of a second, where others replace it."""

    _open = 0

    async def altered(self, chunks: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        self._open += 1
        try:
            async for self._chunk in chunks:
                await asyncio.sleep(0.01 if self._open >= 5 else 0)
                yield self._chunk
        finally:
            self._open -= 1


@mutant("STR-11")
class ClosesTheStreamThatItsTaskHasOpen(Mutation):
    """A stream that begins closes the one that the same task had begun before it."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        task = asyncio.current_task()
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            if task in self._open:
                await self._open[task].aclose()
            self._open[task] = chunks
            async for chunk in chunks:
                yield chunk

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: weakref.WeakKeyDictionary[Any, AsyncGenerator[str, None]] = weakref.WeakKeyDictionary()


class _KeepsWhatFailsInBand(LeakingClient):
    def leaks(self, connection: Connection, leaving: BaseException | None) -> bool:
        return type(leaving) is ModelTransportError and leaving.status_code is None


@mutant("STR-12", wires=(CHAT, MESSAGES))
class KeepsTheConnectionAfterAnErrorEvent(Mutation):
    """The connection of a stream that ended in an error event is not released."""

    client_class = _KeepsWhatFailsInBand


@mutant("STR-12", wires=(CHAT, MESSAGES))
class ConnectsBeforeItIsAsked(Mutation):
    """`stream` opens its connection when it is called, and not at the first step."""

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        connecting = asyncio.get_running_loop().create_task(self._client.connection())
        return self._connected(request, connecting)

    async def _connected(
        self, request: ModelRequest, connecting: asyncio.Task[Connection]
    ) -> AsyncGenerator[str, None]:
        with contextlib.suppress(OSError):
            self._client.idle.append(await connecting)
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk


@mutant("STR-13")
class RemembersEveryChunk(ChunkMutation):
    """A stream keeps all chunks that it has yielded until it ends."""

    async def altered(self, chunks: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        yielded = []
        async for chunk in chunks:
            yielded.append(chunk)
            yield chunk
