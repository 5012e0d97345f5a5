"""The check of the set-up itself: it runs first, so that a miswired subject gets one message and not sixty."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator

from treelang import ModelTransport
from treelang_conformance.cases.transport import Case
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
    await require_reaching_the_provider(case)


async def require_reaching_the_provider(case: Case) -> None:
    """Make a transport and have it bring an answer from the provider."""
    transport = await case.transport()
    case.require(
        isinstance(transport, ModelTransport),
        expected="the factory to return a transport, with complete() and stream()",
        happened=f"it returned a {type(transport).__name__}",
    )
    _require_stream(case, transport)
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


def _require_stream(case: Case, transport: ModelTransport) -> None:
    """`stream` gives an asynchronous iterator; this one is never begun, so it leaves nothing to close."""
    stream: object = transport.stream(case.request())
    if inspect.iscoroutine(stream):
        stream.close()
    case.require(
        isinstance(stream, AsyncIterator),
        expected="stream(request) to return an asynchronous iterator without being awaited",
        happened=f"it returned a {type(stream).__name__}",
        hint="Write it as `async def stream(self, request)` with `yield`, or as a plain `def` that returns one.",
    )
