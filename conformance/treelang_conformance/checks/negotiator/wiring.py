"""The check of the set-up itself: it runs first, so that a miswired subject gets one message and not sixty."""

from __future__ import annotations

from treelang import ModelCapabilityNegotiator
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.clauses import WIRING
from treelang_conformance.registry import SuiteName, check


@check(
    WIRING,
    suite=SuiteName.NEGOTIATOR,
    hint="The factory takes nothing; the negotiator's class will do where its constructor needs nothing.",
)
async def the_factory_makes_a_negotiator(case: NegotiatorCase) -> None:
    """The factory makes an object with the three methods of a negotiator."""
    negotiator = await case.negotiator()
    case.require(
        isinstance(negotiator, ModelCapabilityNegotiator),
        expected="the factory to return a negotiator, with capabilities(), structured_output() and"
        " fallback_after_rejection()",
        happened=f"it returned a {type(negotiator).__name__}",
    )
