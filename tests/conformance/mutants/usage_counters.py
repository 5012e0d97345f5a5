"""Mutants of USE-1 to USE-3, USE-7, USE-8, USE-11: which numbers are reported."""

from __future__ import annotations

import contextlib
import dataclasses
import weakref
from collections.abc import AsyncGenerator
from typing import Any

from tests.conformance.mutants.mutation import CHAT, MESSAGES, RESPONSES, Mutation, mutant
from treelang import ModelRequest, ModelUsage, ProviderResponseError, UsageLedger, UsageRecord
from treelang.transports.answer import AnswerState
from treelang_conformance.endpoint import Endpoint

# --- which numbers ---


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
