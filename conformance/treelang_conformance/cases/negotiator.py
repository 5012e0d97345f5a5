"""What a check of a negotiator is given: the negotiator, and transports that count what they are asked."""

from __future__ import annotations

from treelang import ModelCapabilityNegotiator
from treelang_conformance.cases.judge import Judge, Surroundings
from treelang_conformance.subject import NegotiatorSubject


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
        with self.succeeding("making the negotiator", expected="the factory to make a negotiator"):
            negotiator = await self.subject.build()
        self._made.append(negotiator)
        return negotiator

    async def close(self) -> None:
        """Close every negotiator that was made, where it can be closed."""
        while self._made:
            with self.succeeding("closing the negotiator", expected="the negotiator to close"):
                await self.subject.dispose(self._made.pop())
