"""NEG-1: no question to a negotiator leads to a model request, neither at once nor later."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping

from treelang import StructuredOutputSelection
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._evaluation import (
    JSON_MODE,
    PROGRAM,
    STRICT,
    evaluate,
    require_ended,
    require_requests,
)
from treelang_conformance.checks.negotiator._negotiation import AUTO, POLICIES, VERSIONS, begin
from treelang_conformance.checks.negotiator._transports import (
    MODEL,
    OTHER_MODEL,
    RecordingTransport,
    capable_transport,
)
from treelang_conformance.registry import SuiteName, check

_LATER_SECONDS = 0.05
"""How long a request may be on its way that nothing visible is about to make, such as a timer of the loop."""

_THREAD_SECONDS = 0.5
"""How long a thread that was started by a question is waited for; one that serves for good is then left alone."""

_LOOK_SECONDS = 0.005

_MODELS = ("", MODEL, OTHER_MODEL, "Unheard-Of/Model:v1.5@latest", "\u6a21\u578b-\U0001f332")

_TRANSPORTS: Mapping[str, Callable[[], RecordingTransport]] = {
    "that-declares-capabilities": capable_transport,
    "without-discovery": RecordingTransport,
}

_HINT = "Ask the transport for what it declares, and take the defaults where it declares nothing: no trial request."


@check("NEG-1", suite=SuiteName.NEGOTIATOR, over=_TRANSPORTS, hint=_HINT)
async def no_question_makes_a_request(case: NegotiatorCase, make: Callable[[], RecordingTransport]) -> None:
    """Discovery, selection and fallback make no request of a transport: not at once, and not in a task or thread."""
    running = set(threading.enumerate())
    transport = make()
    negotiation = await begin(case)
    for model in _MODELS:
        capabilities = negotiation.capabilities(transport, model)
        for policy in POLICIES:
            for version in VERSIONS:
                answer = negotiation.ask(capabilities, policy, model=model, version=version)
                if isinstance(answer, StructuredOutputSelection):
                    negotiation.fall_back(answer, policy)
    await _until_idle(case, running, transport)
    require_requests(case, transport)


@check("NEG-1", suite=SuiteName.NEGOTIATOR, hint=_HINT)
async def making_a_negotiator_and_asking_once_makes_no_request(case: NegotiatorCase) -> None:
    """The very first discovery makes no request either, nor does its repetition with the same transport."""
    running = set(threading.enumerate())
    transports = [make() for make in _TRANSPORTS.values()]
    for transport in transports:
        negotiation = await begin(case)
        for _ in range(3):
            negotiation.capabilities(transport)
    await _until_idle(case, running, *transports)
    for transport in transports:
        require_requests(case, transport)


@check("NEG-1", suite=SuiteName.NEGOTIATOR, hint=_HINT)
async def an_evaluation_makes_the_one_request_that_it_is_about(case: NegotiatorCase) -> None:
    """Under the reference arborist, a question that the model answers well is one request and no more."""
    running = set(threading.enumerate())
    negotiation = await begin(case)
    transports = {STRICT: capable_transport(PROGRAM), JSON_MODE: RecordingTransport([PROGRAM])}
    for expected, transport in transports.items():
        require_ended(case, await evaluate(negotiation, transport, AUTO), None)
        require_requests(case, transport, expected)
    await _until_idle(case, running, *transports.values())
    for transport in transports.values():
        require_requests(case, transport)


async def _until_idle(case: NegotiatorCase, running: set[threading.Thread], *transports: RecordingTransport) -> None:
    """Let everything end that a question may have begun: tasks, threads, and what a timer holds back."""
    with case.bounded("what the negotiator has begun in threads"):
        await asyncio.get_running_loop().shutdown_default_executor()
    await case.leftovers()
    begun = time.monotonic()
    while not any(transport.requests for transport in transports):
        seconds = _THREAD_SECONDS if set(threading.enumerate()) - running else _LATER_SECONDS
        if time.monotonic() - begun > seconds * case.patience:
            return
        await asyncio.sleep(_LOOK_SECONDS)
