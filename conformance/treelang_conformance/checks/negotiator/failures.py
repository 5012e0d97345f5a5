"""NEG-5: no failure but an explicit rejection says anything about what a model can do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from treelang import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
)
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._evaluation import (
    NO_PROGRAM,
    PROGRAM,
    STRICT,
    evaluate,
    require_ended,
    require_requests,
)
from treelang_conformance.checks.negotiator._negotiation import AUTO, REQUIRED, Negotiation, begin
from treelang_conformance.checks.negotiator._transports import (
    CAPABLE,
    MODEL,
    OTHER_MODEL,
    DeclaringTransport,
    FailingTransport,
    capable_transport,
)
from treelang_conformance.outcome import type_name
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

_FAILURES: Mapping[str, Callable[[], BaseException]] = {
    "authentication": lambda: ModelAuthenticationError("not accepted", provider="kit", status_code=401),
    "permission": lambda: ModelAuthenticationError("not permitted", provider="kit", status_code=403),
    "rate-limit": lambda: ModelRateLimitError("too many requests", provider="kit", status_code=429, retry_after=1.0),
    "timeout": lambda: ModelTimeoutError("no answer in time", provider="kit"),
    "connection": lambda: ModelConnectionError("not reached", provider="kit"),
    "bad-request": lambda: ModelTransportError("a bad request", provider="kit", status_code=400),
    "server-error": lambda: ModelTransportError("a failing server", provider="kit", status_code=503),
    "invalid-answer": lambda: ProviderResponseError("half an answer", provider="kit"),
    "the-callers-deadline": lambda: TimeoutError("the deadline"),
    "cancellation": lambda: asyncio.CancelledError("the caller"),
    "unrelated": lambda: RuntimeError("something else"),
    "a-look-up": lambda: KeyError("oak-1"),
    "an-unrelated-value": lambda: ValueError("strict output is not supported"),
}
"""By what it is, what a transport may raise that is no explicit rejection."""

_DISCOVERY_HINT = "Let pass what discovery raises: who takes it for an answer, takes the defaults for what is declared."
_HINT = "Only a StructuredOutputUnsupportedError is evidence, and `fallback_after_rejection` is where it arrives."


@check("NEG-5", suite=SuiteName.NEGOTIATOR, over=_FAILURES, hint=_DISCOVERY_HINT)
async def a_failure_of_discovery_passes_unchanged(case: NegotiatorCase, fail: Callable[[], BaseException]) -> None:
    """What the transport's discovery raises passes unchanged, and is remembered as no answer."""
    transport = FailingTransport({MODEL: CAPABLE, OTHER_MODEL: CAPABLE})
    negotiation = await begin(case)
    for _ in range(2):
        transport.failure = fail()
        _require_passing(negotiation, transport)
    transport.failure = None
    for model in (MODEL, OTHER_MODEL):
        with about(f"the model {model!r}, once discovery works again"):
            capabilities = negotiation.capabilities(transport, model)
            case.require(
                capabilities == CAPABLE, expected=f"what is declared, {CAPABLE}", happened=f"it said {capabilities}"
            )
            for policy in (AUTO, REQUIRED):
                negotiation.select_strict(policy, capabilities)
    require_requests(case, transport)


def _require_passing(negotiation: Negotiation, transport: FailingTransport) -> None:
    raised: BaseException | None = None
    answer: object = None
    try:
        answer = negotiation.negotiator.capabilities(transport, MODEL)
    except (Exception, asyncio.CancelledError) as error:
        raised = error
    expected = f"the {type_name(transport.failure)} of discovery to pass unchanged" if transport.failure else ""
    happened = f"it said {answer}" if raised is None else f"it raised {type_name(raised)}: {raised}"
    negotiation.case.require(raised is transport.failure, expected=expected, happened=happened)


@check("NEG-5", suite=SuiteName.NEGOTIATOR, over=_FAILURES, hint=_DISCOVERY_HINT)
async def a_failure_of_discovery_ends_an_evaluation(case: NegotiatorCase, fail: Callable[[], BaseException]) -> None:
    """Under the reference arborist, a failing discovery ends the evaluation, and the next one is strict."""
    transport = FailingTransport({MODEL: CAPABLE}, [PROGRAM])
    transport.failure = failure = fail()
    negotiation = await begin(case)
    _require_same(case, await evaluate(negotiation, transport, AUTO), failure)
    require_requests(case, transport)
    transport.failure = None
    await _require_strict_next(case, negotiation, transport)


@check("NEG-5", suite=SuiteName.NEGOTIATOR, over=_FAILURES, hint=_HINT)
async def a_failed_request_is_no_evidence(case: NegotiatorCase, fail: Callable[[], BaseException]) -> None:
    """Under the reference arborist, a failed strict request is not repeated, and the next one is strict again."""
    transport = capable_transport()
    negotiation = await begin(case)
    for policy in (AUTO, AUTO, REQUIRED):
        failure = fail()
        transport.play(failure)
        _require_same(case, await evaluate(negotiation, transport, policy, retries=2), failure)
        require_requests(case, transport, STRICT)
    await _require_strict_next(case, negotiation, transport)


@check("NEG-5", suite=SuiteName.NEGOTIATOR, over=_FAILURES, hint=_HINT)
async def a_failure_after_an_invalid_answer_is_no_evidence(
    case: NegotiatorCase, fail: Callable[[], BaseException]
) -> None:
    """Under the reference arborist, neither an invalid answer nor a failure after it says anything of strict output."""
    transport = capable_transport()
    negotiation = await begin(case)
    failure = fail()
    transport.play(NO_PROGRAM, failure)
    _require_same(case, await evaluate(negotiation, transport, AUTO, retries=2), failure)
    require_requests(case, transport, STRICT, STRICT)
    await _require_strict_next(case, negotiation, transport)


def _require_same(case: NegotiatorCase, error: BaseException | None, failure: BaseException) -> None:
    """Cancellation is one of its kind and no more: what ends a task is made anew by asyncio."""
    case.require(
        error is failure or (isinstance(failure, asyncio.CancelledError) and isinstance(error, asyncio.CancelledError)),
        expected=f"the evaluation to end in the {type_name(failure)} that was raised",
        happened="it ended well" if error is None else f"it ended in {type_name(error)}: {error}",
    )


async def _require_strict_next(case: NegotiatorCase, negotiation: Negotiation, transport: DeclaringTransport) -> None:
    transport.play(PROGRAM)
    for policy in (AUTO, REQUIRED):
        with about(f"the next evaluation under {policy!r}"):
            require_ended(case, await evaluate(negotiation, transport, policy), None)
            require_requests(case, transport, STRICT)
