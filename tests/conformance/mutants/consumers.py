"""Mutants of STR-14 and ERR-12: what the consumer of a stream raises, and what comes out in its place."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncGenerator, AsyncIterator

from tests.conformance.mutants.mutation import CHAT, MESSAGES, Mutation, mutant
from treelang import ModelConnectionError, ModelRequest, ModelTimeoutError, ProviderResponseError
from treelang.transports.chunks import ChunkStream


@mutant("STR-14", wires=(CHAT, MESSAGES))
class TranslatesTheConsumersConnectionError(Mutation):
    """A `ConnectionError` that the consumer throws in comes out as the provider's."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                try:
                    yield chunk
                except ConnectionError as error:
                    raise ModelConnectionError("The connection was lost.", provider=self._provider) from error


@mutant("STR-14")
class TakesTheConsumersKeyErrorForTheEnd(Mutation):
    """A `KeyError` that the consumer throws in ends the stream quietly."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                try:
                    yield chunk
                except KeyError:
                    return


@mutant("ERR-12", "STR-14")
class TranslatesTheConsumersTimeout(Mutation):
    """A plain `TimeoutError` that the consumer throws into a stream comes out as the provider's."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                try:
                    yield chunk
                except TimeoutError as error:
                    raise ModelTimeoutError("The provider is slow.", provider=self._provider) from error


@mutant("STR-14", wires=(CHAT, MESSAGES))
class NotesThatTheConsumerInterrupted(Mutation):
    """An exception that the consumer throws in comes out with a note of the transport's."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                try:
                    yield chunk
                except Exception as error:
                    error.add_note(f"While streaming from {self._provider}.")
                    raise


class _NamedAtItsEnd(ChunkStream):
    provider: str

    async def aclose(self) -> None:
        error = sys.exception()
        if isinstance(error, ProviderResponseError) and error.provider is None:
            error.provider = self.provider
        await super().aclose()


@mutant("STR-14", wires=(CHAT, MESSAGES))
class NamesItselfOnTheConsumersError(Mutation):
    """An error of the contract that the consumer raises in its loop is given the transport's provider."""

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        chunks = _NamedAtItsEnd(self._stream(request), self._interrupted)
        chunks.provider = self._provider
        return chunks
