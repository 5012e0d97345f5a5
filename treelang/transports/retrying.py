"""Retrying as a decision that the caller takes: visible, bounded, and never where it could do harm."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import Any

from treelang.errors import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
)
from treelang.transports.chunks import ChunkStream
from treelang.transports.contract import ModelCapabilities, ModelRequest, ModelTransport, ModelUsage

_log = logging.getLogger(__name__)

_PASSING_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_PASSING_CODES = frozenset({"api_error", "overloaded_error", "server_error"})

_LASTING_CODES = frozenset({"insufficient_quota"})
"""Rate limits that no waiting lifts."""


@dataclass(frozen=True, slots=True)
class Retry:
    """One retry that is about to be made.

    Attributes:
        attempt: Number of the attempt that failed, from 1.
        error: Why it failed.
        delay: Seconds until the next attempt.
    """

    attempt: int
    error: ModelTransportError
    delay: float


class RetryingTransport:
    """Makes the calls of another transport again where a failure is likely to pass.

    Retried are rate limits, timeouts, lost connections and the provider's own passing failures; never
    authentication, bad requests, rejections and invalid answers, and never a stream that has yielded a chunk
    (FBK-13). The provider's `retry_after` is honoured; without one the delay doubles from retry to retry, and a
    random part of it is taken, so that many clients do not come back at once.

    Args:
        inner: The transport that makes the calls. It remains its owner's to close.
        attempts: How many calls are made at the most.
        first_delay: Seconds that the first retry waits at the most.
        longest_delay: Seconds that any retry waits at the most; a provider that asks for more is not asked again.
        on_retry: Called before each wait.
    """

    def __init__(
        self,
        inner: ModelTransport,
        *,
        attempts: int = 3,
        first_delay: float = 0.5,
        longest_delay: float = 60.0,
        on_retry: Callable[[Retry], None] | None = None,
    ) -> None:
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        self._inner = inner
        self._attempts = attempts
        self._first_delay = first_delay
        self._longest_delay = longest_delay
        self._on_retry = on_retry

    def __repr__(self) -> str:
        return f"RetryingTransport({self._inner!r}, attempts={self._attempts})"

    @property
    def provider(self) -> str | None:
        """Name of the inner transport's deployment, where it is known."""
        return getattr(self._inner, "provider", None)

    async def complete(self, request: ModelRequest) -> str:
        """Return the text of the first attempt that succeeds, or raise what the last one raised."""
        attempt = 1
        while True:
            try:
                return await self._inner.complete(request)
            except ModelTransportError as error:
                delay = self._delay(error, attempt)
                if delay is None:
                    raise
                await self._wait(Retry(attempt, error, delay))
            attempt += 1

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the chunks of the first attempt that yields any; from then on every failure is final."""
        return ChunkStream(self._stream(request), _interrupted)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        attempt = 1
        while True:
            yielded = False
            try:
                async with AsyncExitStack() as stack:
                    chunks: Any = self._inner.stream(request)
                    if hasattr(chunks, "aclose"):
                        await stack.enter_async_context(aclosing(chunks))
                    async for chunk in chunks:
                        yielded = True
                        yield chunk
                    return
            except ModelTransportError as error:
                delay = None if yielded else self._delay(error, attempt)
                if delay is None:
                    raise
                retry = Retry(attempt, error, delay)
            await self._wait(retry)
            attempt += 1

    def consume_usage(self) -> ModelUsage:
        """Return the usage of the last attempt; unreported where the inner transport reports none."""
        consume = getattr(self._inner, "consume_usage", None)
        usage: ModelUsage = consume() if consume is not None else ModelUsage()
        return usage

    def capabilities(self, model: str) -> ModelCapabilities:
        """Return the inner transport's capabilities; none where it declares none."""
        declared = getattr(self._inner, "capabilities", None)
        known: ModelCapabilities = declared(model) if declared is not None else ModelCapabilities()
        return known

    def _delay(self, error: ModelTransportError, attempt: int) -> float | None:
        """Seconds until the next attempt, or `None` where the failure is final."""
        if attempt >= self._attempts or not _may_pass(error):
            return None
        ceiling = min(self._longest_delay, self._first_delay * 2 ** (attempt - 1))
        jitter = random.uniform(0, ceiling)  # noqa: S311  # spreads load, keeps no secret
        if error.retry_after is None:
            return jitter
        return error.retry_after + jitter if error.retry_after <= self._longest_delay else None

    async def _wait(self, retry: Retry) -> None:
        _log.info("attempt %d failed, next in %.1f s: %s", retry.attempt, retry.delay, retry.error)
        if self._on_retry is not None:
            self._on_retry(retry)
        await asyncio.sleep(retry.delay)


def _interrupted() -> Exception:
    return ProviderResponseError("The stream was interrupted and cannot be read on.", provider="retrying")


def _may_pass(error: ModelTransportError) -> bool:
    if isinstance(error, ModelAuthenticationError) or error.code in _LASTING_CODES:
        return False
    if isinstance(error, ModelRateLimitError | ModelTimeoutError | ModelConnectionError):
        return True
    if error.status_code is None:
        return error.code in _PASSING_CODES
    return error.status_code in _PASSING_STATUSES
