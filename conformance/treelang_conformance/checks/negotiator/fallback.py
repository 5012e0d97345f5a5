"""NEG-4: what may follow a rejection of strict output, and what may not."""

from __future__ import annotations

from collections.abc import Mapping

from treelang import StructuredOutputSelection, StructuredOutputUnsupportedError
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._completeness import require_complete
from treelang_conformance.checks.negotiator._evaluation import (
    JSON_MODE,
    NO_PROGRAM,
    PROGRAM,
    STRICT,
    evaluate,
    require_ended,
    require_requests,
)
from treelang_conformance.checks.negotiator._negotiation import (
    AUTO,
    COMPATIBILITY,
    POLICIES,
    REQUIRED,
    VERSIONS,
    Negotiation,
    begin,
    require_final,
)
from treelang_conformance.checks.negotiator._transports import CAPABLE, MODEL, NOTHING, capable_transport
from treelang_conformance.outcome import shortened
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import Violation, about

_HINT = "Grant JSON mode under `auto` and after a strict selection; answer None to everything else."

_REJECTION = StructuredOutputUnsupportedError("strict output is not supported", provider="kit", status_code=400)


def _granted(negotiation: Negotiation, version: str = "2.0") -> StructuredOutputSelection:
    """The fallback from a strict selection under `auto`, which has to be granted and complete."""
    fallback = negotiation.fall_back(negotiation.select_strict(AUTO, version=version), AUTO)
    if fallback is None:
        raise Violation(expected="JSON mode after a rejection of strict output", happened="no fallback was granted")
    return fallback


@check("NEG-4", suite=SuiteName.NEGOTIATOR, over={version: version for version in VERSIONS}, hint=_HINT)
async def a_rejection_under_auto_leads_to_json_mode(case: NegotiatorCase, version: str) -> None:
    """Under `auto`, a rejected strict selection leads to a complete selection in JSON mode."""
    fallback = _granted(await begin(case), version)
    case.require(
        fallback.mode == "compatibility",
        expected="a fallback to JSON mode, whose mode is 'compatibility'",
        happened=f"its mode is {fallback.mode!r}: {shortened(fallback)}",
    )
    require_complete(case, fallback)


@check("NEG-4", suite=SuiteName.NEGOTIATOR, hint=_HINT)
async def a_rejection_under_another_policy_is_final(case: NegotiatorCase) -> None:
    """A rejected strict selection leads to nothing where strict output is required, or no policy allows it."""
    for selected, policy in ((REQUIRED, REQUIRED), (AUTO, REQUIRED), (AUTO, COMPATIBILITY), (REQUIRED, COMPATIBILITY)):
        negotiation = await begin(case)
        with about(f"the policy {policy!r}"):
            require_final(case, negotiation.fall_back(negotiation.select_strict(selected), policy))


@check("NEG-4", suite=SuiteName.NEGOTIATOR, hint=_HINT)
async def nothing_follows_json_mode(case: NegotiatorCase) -> None:
    """A selection in JSON mode leads to no other, for whatever reason it was selected and under whatever policy."""
    for capabilities, selected in ((NOTHING, AUTO), (NOTHING, COMPATIBILITY), (CAPABLE, COMPATIBILITY)):
        for policy in POLICIES:
            negotiation = await begin(case)
            with about(f"JSON mode that was selected under {selected!r}, and the policy {policy!r}"):
                require_final(case, negotiation.fall_back(negotiation.select(capabilities, selected), policy))


@check("NEG-4", suite=SuiteName.NEGOTIATOR, over={policy: policy for policy in POLICIES}, hint=_HINT)
async def a_fallback_is_granted_once(case: NegotiatorCase, policy: str) -> None:
    """What was granted after a rejection is the last: its own rejection leads to nothing, however often it is told."""
    negotiation = await begin(case)
    fallback = _granted(negotiation)
    for _ in range(3):
        require_final(case, negotiation.fall_back(fallback, policy))
    other = await begin(case)  # what is final does not depend on who granted it
    require_final(case, other.fall_back(fallback, policy))


@check("NEG-4", suite=SuiteName.NEGOTIATOR, hint="A rejection is no reason to forget the policy of the next question.")
async def what_follows_a_rejection_keeps_the_policy(case: NegotiatorCase) -> None:
    """After a rejection, later rejections of strict output are answered by the same rules, for this model or another.

    A negotiator may remember the rejection and ask for JSON mode at once, or refuse what is required.
    """
    negotiation = await begin(case)
    _granted(negotiation)
    for policy in POLICIES:
        for model in (MODEL, f"{MODEL}-{policy}"):  # of the second nothing can be remembered
            answer = negotiation.ask(CAPABLE, policy, model=model)
            if not isinstance(answer, StructuredOutputSelection):
                continue
            fallback = negotiation.fall_back(answer, policy)
            with about(f"a selection of the mode {answer.mode!r} under {policy!r}"):
                if answer.mode == "strict" and policy == AUTO:
                    case.require(fallback is not None, expected="JSON mode", happened="no fallback was granted")
                else:
                    require_final(case, fallback)


@check("NEG-4", suite=SuiteName.NEGOTIATOR, over={policy: policy for policy in POLICIES}, hint=_HINT)
async def every_rejection_is_answered_alike(case: NegotiatorCase, policy: str) -> None:
    """However many rejections came before, of however many models, the next is answered by the same rules."""
    negotiation = await begin(case)
    for number in range(5):
        selection = negotiation.select(CAPABLE, policy, model=f"{MODEL}-{number}")
        fallback = negotiation.fall_back(selection, policy)
        with about(f"rejection {number + 1} under {policy!r}"):
            if policy != AUTO:
                require_final(case, fallback)
                continue
            if fallback is None:
                raise Violation(expected="JSON mode after a rejection of strict output", happened="it was refused")
            require_complete(case, fallback)
            require_final(case, negotiation.fall_back(fallback, policy))


_REQUESTS: Mapping[str, tuple[str, ...]] = {
    AUTO: (STRICT, JSON_MODE),
    REQUIRED: (STRICT,),
    COMPATIBILITY: (JSON_MODE,),
}
"""What a transport is asked for that rejects everything, by the policy."""


@check("NEG-4", suite=SuiteName.NEGOTIATOR, over={policy: policy for policy in POLICIES}, hint=_HINT)
async def an_evaluation_falls_back_once_at_the_most(case: NegotiatorCase, policy: str) -> None:
    """Under the reference arborist, a transport that rejects everything gets two requests under `auto`, else one."""
    transport = capable_transport(_REJECTION)
    error = await evaluate(await begin(case), transport, policy, retries=2)
    require_requests(case, transport, *_REQUESTS[policy])
    require_ended(case, error, StructuredOutputUnsupportedError)


@check("NEG-4", suite=SuiteName.NEGOTIATOR, hint=_HINT)
async def an_evaluation_goes_on_with_what_was_granted(case: NegotiatorCase) -> None:
    """Under the reference arborist, after a rejection JSON mode is asked for, also again after an invalid answer."""
    transport = capable_transport(_REJECTION, NO_PROGRAM, PROGRAM)
    error = await evaluate(await begin(case), transport, AUTO, retries=1)
    require_requests(case, transport, STRICT, JSON_MODE, JSON_MODE)
    require_ended(case, error, None)
