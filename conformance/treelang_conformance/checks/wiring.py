"""The check of the set-up itself: it runs first, so that a miswired subject gets one message and not sixty."""

from __future__ import annotations

from treelang import ModelTransport
from treelang_conformance.case import Case
from treelang_conformance.clauses import WIRING
from treelang_conformance.neutral import Answer
from treelang_conformance.outcome import type_name
from treelang_conformance.registry import check


@check(
    WIRING,
    hint="Build the transport for endpoint.url and endpoint.api_key, and name the wire that it really speaks.",
)
async def the_transport_reaches_the_provider(case: Case) -> None:
    """The factory makes a transport whose `complete` asks the loopback provider in the chosen protocol."""
    transport = await case.transport()
    case.require(
        isinstance(transport, ModelTransport),
        expected="the factory to return a transport, with complete() and stream()",
        happened=f"it returned a {type(transport).__name__}",
    )
    answer = Answer.of("A redwood.")
    case.answers(answer)
    outcome = await case.call()
    raised = f" ({type_name(outcome.error)}: {outcome.error})" if outcome.error is not None else ""
    case.require(
        case.provider.requests,
        expected=f"a request at {case.endpoint().url}",
        happened=f"none came, and {outcome}{raised}",
    )
    case.read()
    case.require_text(outcome, answer.text)
