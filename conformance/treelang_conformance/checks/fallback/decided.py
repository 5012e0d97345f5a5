"""FBK-5 to FBK-11, FBK-13: every cell of the decision table, played to a transport under the reference arborist."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import treelang
from treelang import (
    ASTValidationError,
    ModelCapabilities,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
    TreelangError,
)
from treelang_conformance.cases.fallback import DECLARED, Evaluation, FallbackCase
from treelang_conformance.checks.fallback._situations import PLAYS, Play
from treelang_conformance.checks.transport._faults import require_kind
from treelang_conformance.decisions import ANOTHER_FAILURE, ANSWER, Output, Policy, Situation, cells
from treelang_conformance.neutral import ReadRequest
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.registry import BOTH, SuiteName, check
from treelang_conformance.violation import about

Cell: TypeAlias = tuple[Situation, Policy]
CellCheck: TypeAlias = Callable[[FallbackCase, Cell], Awaitable[None]]


def decides(clause: str, *, hint: str) -> Callable[[CellCheck], CellCheck]:
    """Register a check for every cell of the table that proves `clause`."""

    def register(function: CellCheck) -> CellCheck:
        for mode in BOTH:
            rows = {f"{policy}-{situation.id}": (situation, policy) for situation, policy in cells(clause, mode)}
            if rows:
                check(clause, suite=SuiteName.FALLBACK, modes=(mode,), over=rows, hint=hint)(function)
        return function

    return register


@decides(
    "FBK-5",
    hint="Raise StructuredOutputUnsupportedError for a rejection, and leave it to the arborist to ask again.",
)
async def auto_asks_once_more_after_a_rejection(case: FallbackCase, cell: Cell) -> None:
    """Under `auto` an explicit rejection leads to one more request, in JSON mode; an answer leads to none."""
    await _require_decision(case, *cell)


@decides(
    "FBK-6",
    hint="A rejection is raised as StructuredOutputUnsupportedError, and never answered with a request of your own.",
)
async def required_is_refused_and_never_downgraded(case: FallbackCase, cell: Cell) -> None:
    """Under `required` an incapable model is refused unsent, and a rejection is raised."""
    await _require_decision(case, *cell)


@decides("FBK-7", hint="`{'type': 'json_object'}` is JSON mode, or words that ask for JSON; it is never strict.")
async def compatibility_asks_for_json_mode_alone(case: FallbackCase, cell: Cell) -> None:
    """Under `compatibility` every request is in JSON mode, and nothing falls back."""
    await _require_decision(case, *cell)


@decides(
    "FBK-8",
    hint="Classify by the status first: only 400 and 422 can reject strict output. And send one request a call.",
)
async def no_other_failure_leads_to_a_second_request(case: FallbackCase, cell: Cell) -> None:
    """After any failure that is no explicit rejection nothing more is sent, and that failure is raised."""
    await _require_decision(case, *cell)


@decides("FBK-9", hint="Only a strict request can have strict output rejected; the fallback is not strict.")
async def a_failure_of_the_fallback_is_final(case: FallbackCase, cell: Cell) -> None:
    """Whatever becomes of the fallback, nothing is sent after it, and its own failure is raised."""
    await _require_decision(case, *cell)


@decides("FBK-10", hint="Return what the model wrote as it is: it is the arborist that reads and refuses it.")
async def only_an_invalid_answer_is_asked_for_again(case: FallbackCase, cell: Cell) -> None:
    """An answer that is no valid program is asked for again, as often as configured and for the same output."""
    for evaluation in await _require_decision(case, *cell):
        attempts = evaluation.response.attempts if evaluation.response is not None else len(evaluation.requests)
        case.require(
            attempts == len(evaluation.requests),
            expected=f"as many requests as the arborist made: {attempts}",
            happened=f"the provider received {len(evaluation.requests)}",
        )


@decides("FBK-11", hint="Ask for what the request says, whatever else the model could do.")
async def a_transport_that_declares_nothing_is_asked_for_json(case: FallbackCase, cell: Cell) -> None:
    """Without declared capabilities `auto` asks for JSON mode, and `required` is refused unsent."""
    await _require_decision(case, *cell)


@decides("FBK-13", hint="After a chunk every failure is final, even one in a rejection's own words.")
async def nothing_follows_a_failure_in_mid_stream(case: FallbackCase, cell: Cell) -> None:
    """A stream that reports an error after a chunk is not asked for again in another form."""
    await _require_decision(case, *cell)


@check("FBK-5", suite=SuiteName.FALLBACK, modes=BOTH, requires=["capabilities"], hint="See clauses CAP-1 to CAP-3.")
async def what_the_transport_declares_decides(case: FallbackCase) -> None:
    """Under `auto` the first request is strict if the transport itself declares strict output, else in JSON mode."""
    transport = await case.transport()
    declared = transport.capabilities(case.wire.model)  # type: ignore[attr-defined]  # as `requires` has made sure
    case.require(
        isinstance(declared, ModelCapabilities),
        expected="capabilities() to return ModelCapabilities",
        happened=f"it returned {shortened(declared)}",
    )
    evaluation = await case.evaluate(declared=declared)
    expected: Output = "strict" if declared.strict_json_schema else "json"
    _require_requests(case, evaluation, (expected,))
    _require_end(case, evaluation, ANSWER)


async def _require_decision(case: FallbackCase, situation: Situation, policy: Policy) -> list[Evaluation]:
    """Play every example of a cell, require what the table says, and give the evaluations."""
    decision = situation.decisions[policy]
    evaluations = []
    for play in PLAYS[situation.id](case):
        evaluation = await _played(case, situation, policy, play)
        with about(play.about or f"the situation {situation.id!r}"):
            _require_requests(case, evaluation, decision.requests)
            _require_end(case, evaluation, decision.ends)
        evaluations.append(evaluation)
    return evaluations


async def _played(case: FallbackCase, situation: Situation, policy: Policy, play: Play) -> Evaluation:
    transport = await (case.transport() if play.timeout is None else case.transport(timeout=play.timeout))
    return await case.evaluate(
        *play.replies,
        config=case.config(policy, validation_retries=situation.retries),
        declared=DECLARED[situation.declares],
        transport=transport,
        cancel_at=play.cancel_at,
    )


def _require_requests(case: FallbackCase, evaluation: Evaluation, expected: tuple[Output, ...]) -> None:
    asked = [_asked_for(case, request) for request in evaluation.requests]
    case.require(
        asked == list(expected),
        expected=f"{_listed(expected)} on the wire",
        happened=f"there came {_listed(asked)}, and the evaluation {_end(evaluation)}",
        hint=_foreign(evaluation)
        or ("Send one request a call: what follows is the arborist's to decide." if len(asked) > len(expected) else ""),
    )


def _foreign(evaluation: Evaluation) -> str:
    """What to do first where the transport let out an exception that is none of the contract's."""
    error = evaluation.error
    if not isinstance(error, Exception) or isinstance(error, TreelangError):
        return ""
    return (
        f"{type_name(error)} left the transport, which says nothing about fallbacks: have the transport conformant by"
        " the suite `transport` first."
    )


def _asked_for(case: FallbackCase, request: ReadRequest) -> str:
    """What a request asks for, in the words of the table; text is JSON mode on a wire that has no other."""
    return "json" if request.output == ("json" if case.wire.has_json_mode else "text") else request.output


def _listed(outputs: tuple[Output, ...] | list[str]) -> str:
    if not outputs:
        return "no request"
    return f"{len(outputs)} request{'s' if len(outputs) > 1 else ''} ({', then '.join(outputs)})"


def _is_another_failure(error: BaseException | None) -> bool:
    return isinstance(error, ProviderResponseError) and not isinstance(error, StructuredOutputUnsupportedError)


_ENDS: Mapping[str, tuple[str, Callable[[BaseException | None], bool]]] = {
    ANSWER: ("a program", lambda error: error is None),
    ANOTHER_FAILURE: ("an error of the transport that is no rejection of strict output", _is_another_failure),
    "CancelledError": ("CancelledError", lambda error: isinstance(error, asyncio.CancelledError)),
    "ASTValidationError": (
        "ASTValidationError, since the last answer is no valid program",
        lambda error: isinstance(error, ASTValidationError),
    ),
}
"""The ends of the table that are no error of one of the contract's kinds: in words, and how they are known."""


def _require_end(case: FallbackCase, evaluation: Evaluation, expected: str) -> None:
    if expected not in _ENDS:
        require_kind(case, evaluation.outcome, getattr(treelang, expected))
        return
    words, fits = _ENDS[expected]
    case.require(
        fits(evaluation.error),
        expected=words,
        happened=f"the evaluation {_end(evaluation)}",
        hint=_foreign(evaluation),
    )


def _end(evaluation: Evaluation) -> str:
    return "gave a program" if evaluation.error is None else str(evaluation.outcome).removeprefix("the call ")
