"""What a check of a negotiator is given: the negotiator, and transports that count what they are asked."""

from __future__ import annotations

from treelang import ModelCapabilityNegotiator
from treelang_conformance.cases.judge import Judge, Surroundings
from treelang_conformance.outcome import type_name
from treelang_conformance.subject import NegotiatorSubject
from treelang_conformance.violation import Violation


class NegotiatorCase(Judge):
    """The surroundings of one check of a negotiator.

    Attributes:
        subject: What is under test.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.subject: NegotiatorSubject = surroundings.subject
        self._negotiator: ModelCapabilityNegotiator | None = None
        self._made: list[ModelCapabilityNegotiator] = []

    async def negotiator(self, *, fresh: bool = False) -> ModelCapabilityNegotiator:
        """The subject's negotiator, made at the first use and then the same one.

        Args:
            fresh: Make another one all the same, which remembers nothing.
        """
        if fresh:
            return await self._make()
        if self._negotiator is None:
            self._negotiator = await self._make()
        return self._negotiator

    async def _make(self) -> ModelCapabilityNegotiator:
        try:
            with self.bounded("making the negotiator"):
                negotiator = await self.subject.build()
        except Violation:
            raise
        except Exception as error:
            raise Violation(
                expected="the factory to make a negotiator", happened=f"it raised {type_name(error)}: {error}"
            ) from error
        self._made.append(negotiator)
        return negotiator

    async def close(self) -> None:
        """Close every negotiator that was made, where it can be closed."""
        while self._made:
            with self.bounded("closing the negotiator"):
                await self.subject.dispose(self._made.pop())
