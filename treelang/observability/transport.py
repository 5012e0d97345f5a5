"""A model transport that tells of its calls."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from treelang.observability.operation import Operation
from treelang.transports.contract import ModelCapabilities, ModelRequest, ModelTransport, ModelUsage
from treelang.transports.usage import UsageLedger, UsageRecord

if TYPE_CHECKING:
    from treelang.observability.observer import Observability


class WatchedTransport:
    """Makes the calls of another transport and tells of each; what comes back, or is raised, passes unchanged.

    To tell what a call cost, its usage is consumed from the inner transport, and kept for whoever asks this one.

    Args:
        inner: The transport that makes the calls. It remains its owner's to close.
        observability: Takes the events.
        provider: Name of the deployment in events, where `inner.provider` does not say it.
    """

    def __init__(self, inner: ModelTransport, observability: Observability, *, provider: str | None = None) -> None:
        self._inner = inner
        self._observability = observability
        self._ledger = UsageLedger()
        named = provider or getattr(inner, "provider", None)
        self.provider: str | None = named if isinstance(named, str) else None
        """Name of the deployment, where it is known."""

    def __repr__(self) -> str:
        return f"WatchedTransport({self._inner!r})"

    async def complete(self, request: ModelRequest) -> str:
        """Return the text that the inner transport returns."""
        usage = self._ledger.begin()
        with self._operation("model.request", request) as operation:
            try:
                text = await self._inner.complete(request)
            finally:
                operation.add(**self._take_usage(usage, is_whole=True))
            operation.add(output=text, output_characters=len(text))
            return text

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the chunks that the inner transport yields."""
        return _WatchedStream(self, self._inner.stream(request), request)

    def consume_usage(self) -> ModelUsage:
        """Return the usage of this context's last call and reset it to zero (USE-1 to USE-12)."""
        usage = self._ledger.consume()
        # Nothing has been taken yet from a stream that still runs.
        return usage if _is_known(usage) else _consume(self._inner)

    def capabilities(self, model: str) -> ModelCapabilities:
        """Return the inner transport's capabilities; none where it declares none."""
        declared = getattr(self._inner, "capabilities", None)
        known: ModelCapabilities = declared(model) if declared is not None else ModelCapabilities()
        return known

    def _operation(self, name: str, request: ModelRequest) -> Operation:
        return self._observability.operation(name, provider=self.provider, **_described(request))

    def _take_usage(self, record: UsageRecord, *, is_whole: bool) -> dict[str, int]:
        """Take the usage that a call has published, and give it as attributes where it is this call's for certain.

        When a stream ends early, what the context's last call published may be a neighbour's in the same task.
        """
        is_own = is_whole or self._ledger.is_last(record)
        try:
            usage = _consume(self._inner)
        except Exception:  # of a transport that breaks USE-7: whoever asks it is told, the call itself goes on
            return {}
        if not _is_known(usage):
            return {}
        record.usage = usage
        record.bind()
        return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens} if is_own else {}


class _WatchedStream(AsyncGenerator[str, None]):
    """The inner transport's iterator, step by step, so that all it does in whatever state remains its own."""

    def __init__(self, transport: WatchedTransport, chunks: AsyncIterator[str], request: ModelRequest) -> None:
        self._transport = transport
        self._chunks: Any = chunks
        self._request = request
        self._call: _StreamCall | None = None

    async def __anext__(self) -> str:
        """Return the next chunk."""
        if self._call is None:
            self._call = _StreamCall(self, self._transport, self._request)
        try:
            chunk: str = await anext(self._chunks)
        except StopAsyncIteration:
            self._call.end(outcome="completed")
            raise
        except BaseException as error:
            self._call.end(error)
            raise
        self._call.take(chunk)
        return chunk

    async def asend(self, value: None) -> str:
        """Return the next chunk; there is nothing to send."""
        return await anext(self)

    async def athrow(self, *error: Any) -> str:
        """Raise a consumer's exception where the inner iterator stands; it passes unchanged (STR-14)."""
        try:
            if hasattr(self._chunks, "athrow"):
                chunk: str = await self._chunks.athrow(*error)
                return chunk
            await self.aclose()
            raise error[-1] if len(error) == 1 else error[1]
        finally:
            if self._call is not None:
                self._call.end(outcome="closed")

    async def aclose(self) -> None:
        """End the call early and release its connection (STR-10)."""
        try:
            if hasattr(self._chunks, "aclose"):
                await self._chunks.aclose()
        finally:
            if self._call is not None:
                self._call.end(outcome="closed")


class _StreamCall:
    """What is told of a stream that has begun."""

    def __init__(self, stream: _WatchedStream, transport: WatchedTransport, request: ModelRequest) -> None:
        self._transport = transport
        self._usage = transport._ledger.begin()
        self._operation = transport._operation("model.stream", request)
        self._operation.begin()
        self._abandoned = weakref.finalize(stream, self._operation.end, outcome="abandoned")
        self._abandoned.atexit = False
        self._chunk_count = 0
        self._texts: list[str] = []
        self._keeps_texts = transport._observability.allow_content  # memory is not to grow with a stream (STR-13)

    def take(self, chunk: str) -> None:
        if self._chunk_count == 0:
            self._operation.add(time_to_first_chunk_seconds=self._operation.seconds)
        self._chunk_count += 1
        if self._keeps_texts:
            self._texts.append(chunk)

    def end(self, error: BaseException | None = None, *, outcome: str | None = None) -> None:
        if self._abandoned.detach() is None:
            return
        self._operation.add(
            chunk_count=self._chunk_count,
            output="".join(self._texts),
            **self._transport._take_usage(self._usage, is_whole=outcome == "completed"),
        )
        self._operation.end(error, outcome=outcome)


def _consume(transport: ModelTransport) -> ModelUsage:
    consume = getattr(transport, "consume_usage", None)
    usage: ModelUsage = consume() if consume is not None else ModelUsage()
    return usage


def _is_known(usage: ModelUsage) -> bool:
    return usage.reported or usage != ModelUsage()


def _described(request: ModelRequest) -> dict[str, Any]:
    """What is told of a request; nothing of one that is none, which the inner transport refuses."""
    try:
        given = {name: request.get(name) for name in ("model", "temperature", "max_tokens")}
        content = {name: request.get(name) for name in ("messages", "tools", "response_format")}
        output_format = content["response_format"]
        return {
            **given,
            "output_type": "json" if output_format else "text",
            "output_mode": output_format.get("type") if isinstance(output_format, Mapping) else None,
            **content,
        }
    except Exception:
        return {}
