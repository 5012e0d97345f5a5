"""The check of the set-up itself: it runs first, so that a miswired subject gets one message and not sixty."""

from __future__ import annotations

from treelang_conformance.cases.fallback import FallbackCase
from treelang_conformance.checks.transport.wiring import require_reaching_the_provider
from treelang_conformance.clauses import WIRING
from treelang_conformance.registry import SuiteName, check


@check(
    WIRING,
    suite=SuiteName.FALLBACK,
    hint="Build the transport for endpoint.url and endpoint.api_key, and name the wire that it really speaks.",
)
async def the_transport_under_the_arborist_reaches_the_provider(case: FallbackCase) -> None:
    """The factory makes a transport whose `complete` asks the loopback provider in the chosen protocol."""
    await require_reaching_the_provider(case)
