"""Mutants of USE-4 to USE-6, USE-9, USE-10, USE-12: whose usage it is, and for how long."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, Iterator
from contextvars import ContextVar
from typing import Any

from tests.conformance.mutants.mutation import CHAT, MESSAGES, Mutation, mutant
from treelang import ModelRequest, ModelTimeoutError, ModelUsage, UsageLedger, UsageRecord
from treelang.transports.request import check_request
from treelang_conformance.endpoint import Endpoint

_NOTHING = ModelUsage()

# --- how long ---


@mutant("USE-4", wires=(CHAT, MESSAGES), touches={"USE-5": "any order of calls consumes twice as well"})
class ReportsAZeroAfterConsuming(Mutation):
    """Usage that was handed out reads as a zero that the provider had reported."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._handed_out: ContextVar[bool] = ContextVar("handed_out", default=False)

    def consume_usage(self) -> ModelUsage:
        usage = super().consume_usage()
        if not usage.reported and self._handed_out.get():
            self._handed_out.set(False)
            return ModelUsage(reported=True)
        self._handed_out.set(usage.reported)
        return usage


class _RememberingLedger(UsageLedger):
    """A ledger that knows the context's last record even when a new call has hidden it."""

    def __init__(self) -> None:
        self._latest: ContextVar[UsageRecord | None] = ContextVar("latest", default=None)

    def begin(self) -> UsageRecord:
        record = super().begin()
        self._latest.set(record)
        return record

    def latest(self) -> UsageRecord | None:
        return self._latest.get()


class ResurrectingMutation(Mutation):
    """An adapter that brings an earlier call's usage back when a call ends in one way."""

    brings_back_after: type[BaseException]

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._ledger: _RememberingLedger = _RememberingLedger()

    async def complete(self, request: ModelRequest) -> str:
        with self._bringing_back():
            return await super().complete(request)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        with self._bringing_back():
            async with contextlib.aclosing(super()._stream(request)) as chunks:
                async for chunk in chunks:
                    yield chunk

    @contextlib.contextmanager
    def _bringing_back(self) -> Iterator[None]:
        earlier = self._ledger.latest()
        try:
            yield
        except self.brings_back_after:
            if earlier and earlier.usage.reported:
                earlier.bind()
            raise


@mutant("USE-5", wires=(CHAT, MESSAGES))
class KeepsUsageAfterATimeout(ResurrectingMutation):
    """A call that timed out leaves the usage of the call before it."""

    brings_back_after = ModelTimeoutError


@mutant("USE-9", wires=(CHAT, MESSAGES))
class KeepsUsageAfterACancellation(ResurrectingMutation):
    """A cancelled call leaves the usage of the call before it."""

    brings_back_after = asyncio.CancelledError


@mutant("USE-9")
class KeepsUsageAfterAnEarlyClose(ResurrectingMutation):
    """A stream that was closed early leaves the usage of the call before it."""

    brings_back_after = GeneratorExit


@mutant("USE-5")
class ClearsUsageOnceTheRequestIsChecked(Mutation):
    """`complete` looks at the request before it clears the usage."""

    async def complete(self, request: ModelRequest) -> str:
        check_request(request, self._provider)
        return await super().complete(request)


# --- whose ---


@mutant("USE-6", wires=(CHAT, MESSAGES))
class KeepsUsageOnTheTransport(Mutation):
    """Usage is kept in an attribute, where the calls of all tasks find it."""

    _usage = ModelUsage()

    async def complete(self, request: ModelRequest) -> str:
        self._usage = ModelUsage()
        try:
            return await super().complete(request)
        finally:
            self._usage = super().consume_usage()

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        self._usage = ModelUsage()
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            try:
                async for chunk in chunks:
                    yield chunk
            finally:
                self._usage = super().consume_usage()

    def consume_usage(self) -> ModelUsage:
        usage, self._usage = self._usage, ModelUsage()
        return usage


@mutant("USE-6")
class ClearsUsageEverywhereWhenAStreamBegins(Mutation):
    """A stream that begins clears the usage that other tasks have not consumed yet."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        self._ledger = UsageLedger()
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk


class _TasksLedger(UsageLedger):
    """Usage by the task that reported it."""

    def __init__(self) -> None:
        self.by_task: weakref.WeakKeyDictionary[Any, UsageRecord] = weakref.WeakKeyDictionary()

    def begin(self) -> UsageRecord:
        record = _TasksRecord(weakref.ref(self))
        record.bind()
        return record

    def consume(self) -> ModelUsage:
        record = self.by_task.get(asyncio.current_task())
        if record is None:
            return _NOTHING
        usage, record.usage = record.usage, _NOTHING
        return usage


class _TasksRecord(UsageRecord):
    def bind(self) -> None:
        ledger = self._ledger()
        assert isinstance(ledger, _TasksLedger)
        ledger.by_task[asyncio.current_task()] = self


@mutant("USE-6", wires=(CHAT, MESSAGES))
class KeepsUsageByTask(Mutation):
    """Usage belongs to the task that made the call, though another one may share its context."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._ledger = _TasksLedger()


@mutant("USE-10", wires=(CHAT, MESSAGES))
class SharesUsageBetweenTransports(Mutation):
    """All transports keep their usage in one place."""

    _common = UsageLedger()

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._ledger = self._common


class _UnsharedLedger(UsageLedger):
    """Usage as a plain value in the context, which a child task inherits as a copy."""

    def __init__(self) -> None:
        self._usage: ContextVar[ModelUsage] = ContextVar("usage", default=_NOTHING)

    def begin(self) -> UsageRecord:
        self._usage.set(ModelUsage())
        return _UnsharedRecord(weakref.ref(self))

    def put(self, usage: ModelUsage) -> None:
        self._usage.set(usage)

    def consume(self) -> ModelUsage:
        usage = self._usage.get()
        self._usage.set(ModelUsage())
        return usage


class _UnsharedRecord(UsageRecord):
    def bind(self) -> None:
        ledger = self._ledger()
        assert isinstance(ledger, _UnsharedLedger)
        ledger.put(self.usage)


@mutant("USE-12", wires=(CHAT, MESSAGES))
class LetsAChildTaskConsumeItAgain(Mutation):
    """A child task gets its own copy of its parent's usage."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._ledger = _UnsharedLedger()
