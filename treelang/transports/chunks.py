"""The iterator that `stream` returns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any


class ChunkStream(AsyncGenerator[str, None]):
    """What a generator yields, except that a stream which was interrupted does not then end as if it were whole.

    A cancellation that passes through a generator finishes it. Whoever bounds the wait for one chunk, and goes on
    after the deadline, would be told that the stream is over, and take half an answer for a whole one (STR-5).

    Args:
        chunks: The generator.
        interrupted: Makes the error for whoever asks an interrupted stream for more.
    """

    def __init__(self, chunks: AsyncGenerator[str, None], interrupted: Callable[[], Exception]) -> None:
        self._chunks = chunks
        self._interrupted = interrupted
        self._is_interrupted = False

    async def __anext__(self) -> str:
        """Return the next chunk."""
        if self._is_interrupted:
            raise self._interrupted()
        try:
            return await anext(self._chunks)
        except asyncio.CancelledError:
            self._is_interrupted = True
            raise

    async def asend(self, value: None) -> str:
        """Return the next chunk; there is nothing to send."""
        return await anext(self)

    async def athrow(self, *error: Any) -> str:
        """Raise a consumer's exception where the generator stands; it passes unchanged (STR-14)."""
        try:
            return await self._chunks.athrow(*error)
        except asyncio.CancelledError:
            self._is_interrupted = True
            raise

    async def aclose(self) -> None:
        """End the call early and release its connection (STR-10)."""
        await self._chunks.aclose()
