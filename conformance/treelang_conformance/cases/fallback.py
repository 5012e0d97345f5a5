"""What a check of the fallback is given: a transport's surroundings, and the reference arborist above it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from treelang import (
    Arborist,
    ArboristConfig,
    DefaultModelCapabilityNegotiator,
    EvalResponse,
    EvalType,
    FunctionToolProvider,
    ModelCapabilities,
    ModelRequest,
    ModelTransport,
    Observability,
)
from treelang_conformance import canaries
from treelang_conformance.cases.transport import Case
from treelang_conformance.decisions import Declaration, Policy
from treelang_conformance.neutral import Answer, ReadRequest
from treelang_conformance.outcome import Outcome
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import Gate, Script
from treelang_conformance.registry import Mode
from treelang_conformance.violation import Violation
from treelang_conformance.waiting import settle, where

QUESTION = f"How tall is the tallest tree? {canaries.USER_TEXT}"
"""What every evaluation is asked."""

PROGRAM = Answer.of(
    *('{"type": "program", "mode": "single", ', '"body": [{"type": "value", "name": "height", "value": 115.9}]}')
)
"""A valid program of format 1.0, the one that `config` asks for by default."""

DECLARED: Mapping[Declaration, ModelCapabilities | None] = {
    "strict": ModelCapabilities(strict_json_schema=True, temperature=True),
    "no-strict": ModelCapabilities(temperature=True),
    "nothing": None,
}
"""What the arborist is told of the model, whatever the subject itself declares."""


async def height(tree: str, unit: str = "m") -> float:
    """The height of a tree."""
    return {"redwood": 115.9, "oak": 40.3}[tree] * (1.0 if unit == "m" else 3.28)


TOOLS = FunctionToolProvider(height)
"""The tools of every evaluation."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How one evaluation ended, and what it sent.

    Attributes:
        response: What it gave; `None` where it failed.
        error: What it raised, `CancelledError` included; `None` for a normal end.
        received: The requests that the provider received meanwhile, in order.
        requests: The same, translated by the wire.
    """

    response: EvalResponse | None
    error: BaseException | None
    received: tuple[RecordedRequest, ...]
    requests: tuple[ReadRequest, ...]

    @property
    def outcome(self) -> Outcome:
        """The end in the form of a call's."""
        return Outcome((), self.error, None, self.response)


class FallbackCase(Case):
    """The surroundings of one check of a transport under the reference arborist."""

    def config(self, policy: Policy = "auto", **settings: Any) -> ArboristConfig:
        """How the arborist is configured; `settings` replace or add some."""
        return ArboristConfig(self.wire.model, structured_output_mode=policy, **settings)

    async def evaluate(
        self,
        *replies: Answer | Script,
        config: ArboristConfig | None = None,
        declared: ModelCapabilities | None = DECLARED["strict"],
        transport: ModelTransport | None = None,
        observability: Observability | None = None,
        cancel_at: Gate | None = None,
    ) -> Evaluation:
        """Have the reference arborist ask the subject for one program, by a negotiator that remembers nothing.

        Args:
            replies: What the provider answers, request by request; any further request is answered with a program.
            config: How to ask; by default `config()`.
            declared: What the arborist is told of the model; `None` for a transport without `capabilities()`.
            transport: Who answers, called in this case's mode; by default the subject.
            observability: Told what happens.
            cancel_at: Where the provider stands when the evaluation is to be cancelled; by default it is not.
        """
        waiting = deque(map(self.script, replies))
        surplus = self.script(PROGRAM)
        self.provider.answer_by(lambda _: waiting.popleft() if waiting else surplus)
        sent = len(self.provider.requests)
        arborist = Arborist(
            self.wire.model,
            TOOLS,
            config=config or self.config(),
            transport=_under(transport or await self.transport(), self.mode, declared),
            observability=observability,
            capability_negotiator=DefaultModelCapabilityNegotiator(),
        )
        task = asyncio.create_task(arborist.eval(QUESTION, EvalType.TREE))
        if cancel_at is not None:
            await self._cancelled_at(cancel_at, task)
        response, error = await self._ended(task)
        await settle()
        received = self.provider.requests[sent:]
        return Evaluation(response, error, received, tuple(self.read(sent + number) for number in range(len(received))))

    async def _cancelled_at(self, gate: Gate, task: asyncio.Task[EvalResponse]) -> None:
        reached = asyncio.create_task(gate.reached())
        first = asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)
        try:
            await self.within(first, "the provider to receive the request that is cancelled")
        finally:
            reached.cancel()
        await settle()
        task.cancel()

    async def _ended(self, task: asyncio.Task[EvalResponse]) -> tuple[EvalResponse | None, BaseException | None]:
        try:
            with self.bounded("the evaluation"):
                await asyncio.wait({task})
        except Violation as late:
            stands = where(task)
            task.cancel()
            raise Violation(expected=late.expected, happened=f"it hangs {stands}") from None
        try:
            return task.result(), None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # CancelledError is what some situations look for
            return None, error


class _Under:
    """A transport as the arborist sees it: called in one mode, and declaring nothing."""

    def __init__(self, transport: ModelTransport, mode: Mode) -> None:
        self._transport = transport
        self._mode = mode

    async def complete(self, request: ModelRequest) -> str:
        if self._mode is Mode.COMPLETE:
            return await self._transport.complete(request)
        return "".join([chunk async for chunk in self.stream(request)])

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        chunks = self._transport.stream(request)
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()


class _DeclaringUnder(_Under):
    """The same, declaring what it is told to."""

    def __init__(self, transport: ModelTransport, mode: Mode, declared: ModelCapabilities) -> None:
        super().__init__(transport, mode)
        self._declared = declared

    def capabilities(self, model: str) -> ModelCapabilities:
        return self._declared


def _under(transport: ModelTransport, mode: Mode, declared: ModelCapabilities | None) -> ModelTransport:
    """A transport as the arborist is to see it.

    Args:
        transport: Who answers.
        mode: How it is called; the arborist itself always asks for whole answers.
        declared: What it says of every model; `None` for one that has no `capabilities()`.
    """
    return _Under(transport, mode) if declared is None else _DeclaringUnder(transport, mode, declared)
