"""Mutants of USE: which numbers are reported, whose they are, and for how long."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import weakref
from collections.abc import AsyncGenerator, Iterator
from contextvars import ContextVar
from typing import Any

from tests.conformance.mutants.mutation import CHAT, MESSAGES, RESPONSES, Mutation, mutant
from treelang import ModelRequest, ModelTimeoutError, ModelUsage, ProviderResponseError, UsageLedger, UsageRecord
from treelang.transports.answer import AnswerState
from treelang.transports.request import check_request
from treelang_conformance.endpoint import Endpoint

# --- which numbers ---

_NOTHING = ModelUsage()


@mutant("USE-1", wires=(CHAT, MESSAGES))
class CutsLargeCounters(Mutation):
    """`complete` reports the lower 32 bits of a counter."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        if usage.usage.reported:
            usage.report(usage.usage.prompt_tokens % 2**32, usage.usage.completion_tokens % 2**32)
        return text


@mutant("USE-1")
class TakesZeroForUnreported(Mutation):
    """A completion whose counters are both zero counts as one that reported none."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        usage.usage = dataclasses.replace(usage.usage, reported=usage.usage != ModelUsage())
        return text


@mutant("USE-2")
class DoesNotAskForUsage(Mutation):
    """A streamed request leaves out `stream_options`, without which no usage is sent."""

    def _stream_arguments(self) -> dict[str, Any]:
        return {"stream": True}


class _BoundOnce(UsageRecord):
    _bound = False

    def bind(self) -> None:
        if not self._bound:
            super().bind()
        self._bound = True


class _StayingLedger(UsageLedger):
    def begin(self) -> UsageRecord:
        record = _BoundOnce(weakref.ref(self))
        record.bind()
        return record


@mutant("USE-2", wires=(CHAT, MESSAGES))
class LeavesUsageWhereTheStreamBegan(Mutation):
    """A stream's usage is published in the context of its first step, whoever makes the others."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._ledger = _StayingLedger()


@mutant("USE-3", wires=(MESSAGES,))
class AddsCachedTokensInAStream(Mutation):
    """What a stream read from the cache is added to the input."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        match event:
            case {"usage": {"cache_read_input_tokens": int(cached)}} if usage.usage.reported:
                usage.report(prompt_tokens=usage.usage.prompt_tokens + cached)
        return text


@mutant("USE-3")
class AddsReasoningToTheOutput(Mutation):
    """The reasoning of a completion is added to its output, of which it is a part already."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        match body:
            case {"usage": {"completion_tokens_details": {"reasoning_tokens": int(reasoning)}}} if usage.usage.reported:
                usage.report(completion_tokens=usage.usage.completion_tokens + reasoning)
        return text


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


# --- odd reports, and failures after a report ---


@mutant("USE-7")
class CountsTrueAsOne(Mutation):
    """A counter that is `true` counts as 1."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        match body:
            case {"usage": {"prompt_tokens": bool(prompt), "completion_tokens": bool(completion)}}:
                usage.report(int(prompt), int(completion))
        return text


@mutant("USE-7", wires=(CHAT, MESSAGES))
class RefusesAnAnswerForItsUsage(Mutation):
    """A stream whose usage is no object is refused as malformed."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        if isinstance(event.get("usage"), list | str | int):
            answer.malformed = "its usage is no object"
        return text


@mutant("USE-7", wires=(RESPONSES,))
class ReportsWithoutCounters(Mutation):
    """A usage without counters counts as reported."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_completion(body, answer, usage)
        if isinstance(body.get("usage"), dict):
            usage.usage = dataclasses.replace(usage.usage, reported=True)
        return text


@mutant(
    "USE-8",
    wires=(CHAT, RESPONSES, MESSAGES),
    touches={"USE-5": "any order of calls has refused answers in it, of which the usage stands"},
)
class ForgetsTheUsageOfARefusedAnswer(Mutation):
    """An answer that is refused leaves no usage, though it was billed."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ProviderResponseError:
            self._ledger.consume()
            raise


@mutant("USE-8", wires=(CHAT, MESSAGES))
class ForgetsTheUsageOfALostStream(Mutation):
    """A stream whose connection is lost leaves no usage, whatever it had reported."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except ConnectionError:
                    self._ledger.consume()
                    raise
                if chunk is None:
                    return
                yield chunk


@mutant("USE-11")
class AddsTotalsUp(Mutation):
    """Each total of the output that a stream reports is added to those before it."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        before = usage.usage.completion_tokens
        text = super()._read_event(event, answer, usage)
        match event:
            case {"usage": {"completion_tokens": int(output)}} if usage.usage.reported:
                usage.report(completion_tokens=before + output)
        return text


@mutant("USE-11", wires=(CHAT, MESSAGES))
class KeepsTheLargestTotal(Mutation):
    """A total of the output that is smaller than the one before it, but not zero, is taken for an error."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        before = usage.usage.completion_tokens
        text = super()._read_event(event, answer, usage)
        if 0 < usage.usage.completion_tokens < before:
            usage.report(completion_tokens=before)
        return text


@mutant("USE-11", wires=(MESSAGES,))
class TakesNullForZero(Mutation):
    """A null input at the end of a stream puts the input back to zero."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        text = super()._read_event(event, answer, usage)
        match event:
            case {"type": "message_delta", "usage": {"input_tokens": None}} if usage.usage.reported:
                usage.report(prompt_tokens=0)
        return text


@mutant("USE-11", wires=(MESSAGES,))
class KeepsTheFirstInput(Mutation):
    """The input that `message_start` reports stands, whatever the end of the stream says."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        before = usage.usage
        text = super()._read_event(event, answer, usage)
        if before.reported and before.prompt_tokens:
            usage.report(prompt_tokens=before.prompt_tokens)
        return text
