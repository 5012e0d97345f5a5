"""One check against one subject: its surroundings, its bounds in time, and its end turned into a result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType

from treelang_conformance import canaries
from treelang_conformance.cases import case_type
from treelang_conformance.cases.judge import Judge, Surroundings
from treelang_conformance.cases.transport import Case
from treelang_conformance.isolation import run_isolated
from treelang_conformance.leftovers import LeftoversWatch
from treelang_conformance.outcome import type_name
from treelang_conformance.provider.server import Provider
from treelang_conformance.registry import Check, Mode
from treelang_conformance.report import CheckOutcome, CheckResult, FailureDetails
from treelang_conformance.subject import FEATURES, AnySubject
from treelang_conformance.violation import CouldNotRun, NotApplicable, Violation
from treelang_conformance.waiting import is_kit, is_standard, line
from treelang_conformance.wires.base import Wire

CHECK_SECONDS = 5.0
"""How long one check may take in all."""

SHOWN_FIRST, SHOWN_LAST = 6, 24
"""How many lines of a long exchange are kept at its beginning and at its end."""


@dataclass(frozen=True, slots=True)
class Executor:
    """Runs checks against one subject, over one wire where it speaks one.

    Attributes:
        subject: What is under test, of the kind that the checks are for.
        wire: The protocol that a transport speaks; `None` for other subjects.
        patience: What the kit's bounds in time are multiplied by, for slow or busy machines.
        seed: Which examples the property checks make.
    """

    subject: AnySubject
    wire: Wire | None = None
    patience: float = 1.0
    seed: int = 0

    def run(self, check: Check) -> CheckResult:
        """Run one check with a provider, an event loop and a subject of its own."""
        begun = time.perf_counter()
        exchange = ""

        async def body(watch: LeftoversWatch) -> None:
            nonlocal exchange
            surroundings = Surroundings(
                subject=self.subject,
                wire=self.wire,
                provider=provider,
                mode=check.mode or Mode.COMPLETE,
                watch=watch,
                patience=self.patience,
                seed=self.seed,
            )
            case = case_type(check.suite)(surroundings)
            try:
                await _judge(check, case)
            except BaseException:
                exchange = provider.transcript()  # before closing, which would show every connection as released
                await _close_quietly(case)
                raise
            await case.close()

        try:
            with Provider() as provider:
                error = run_isolated(body, seconds=CHECK_SECONDS * self.patience)
                if error is not None:
                    exchange = exchange or provider.transcript()
        except Exception as failure:  # a script that could not be played proves nothing
            error = failure
        if self.wire is None and not provider.connections:
            exchange = ""  # there is no protocol of which it could be missed
        return _result(check, _unwrapped(error), _presentable(exchange), max(0.0, time.perf_counter() - begun))


async def _judge(check: Check, case: Judge) -> None:
    if isinstance(case, Case):
        for feature in sorted(check.requires):
            await _require_feature(feature, case)
    if check.parameter is None:
        await check.function(case)
    else:
        await check.function(case, check.parameter[1])


async def _require_feature(feature: str, case: Case) -> None:
    transport = await case.transport()
    method = FEATURES[feature]
    if not case.subject.offers(feature, transport):
        case.not_applicable(f"the transport has no {method}()")
    case.require(
        callable(getattr(transport, method, None)),
        expected=f"the method {method}(), since the subject declares the feature {feature!r}",
        happened=f"{type(transport).__name__} has none",
    )


async def _close_quietly(case: Judge) -> None:
    try:
        await case.close()
    except Violation:
        return  # the check has already failed, for a reason nearer to the cause


def _presentable(exchange: str) -> str:
    """The exchange without the key and, where it is long, without its middle: its end shows where the call failed."""
    lines = exchange.replace(canaries.API_KEY, "***").splitlines()
    left_out = len(lines) - SHOWN_FIRST - SHOWN_LAST
    if left_out > 1:
        lines[SHOWN_FIRST:-SHOWN_LAST] = [f"... {left_out} more lines ..."]
    return "\n".join(lines)


def _unwrapped(error: BaseException | None) -> BaseException | None:
    """The violation inside the groups that task groups make; other errors as they are."""
    if isinstance(error, BaseExceptionGroup):
        violations = error.subgroup(Violation)
        if violations is not None:
            return _unwrapped(violations.exceptions[0])
        if len(error.exceptions) == 1:
            return _unwrapped(error.exceptions[0])
    return error


def _result(check: Check, error: BaseException | None, exchange: str, seconds: float) -> CheckResult:
    outcome, reason, failure = CheckOutcome.PASSED, "", None
    match error:
        case None:
            pass
        case Violation():
            outcome = CheckOutcome.FAILED
            failure = FailureDetails(
                expected=error.expected, happened=error.happened, exchange=exchange, hint=error.hint or check.hint
            )
        case NotApplicable():
            outcome, reason = CheckOutcome.NOT_APPLICABLE, str(error)
        case CouldNotRun():
            outcome, reason = CheckOutcome.COULD_NOT_RUN, str(error)
        case _ if _is_subjects(error.__traceback__):
            outcome = CheckOutcome.FAILED
            failure = FailureDetails(
                expected="the call to end normally",
                happened=f"it raised {type_name(error)} {_place(error.__traceback__)}",
                exchange=exchange,
                hint=check.hint,
            )
        case _:
            outcome = CheckOutcome.KIT_ERROR
            reason = f"{type_name(error)}: {error} {_place(error.__traceback__)}"
    return CheckResult(
        id=check.id,
        description=check.description,
        outcome=outcome,
        seconds=round(seconds, 4),
        reason=reason,
        failure=failure,
    )


def _is_subjects(traceback: TracebackType | None) -> bool:
    """Whether the subject raised it: the innermost frame outside the standard library is not the kit's."""
    codes = [one.tb_frame.f_code for one in _entries(traceback)]
    own = [code for code in codes if not is_standard(code)]
    return bool(own) and not is_kit(own[-1])


def _place(traceback: TracebackType | None) -> str:
    entries = _entries(traceback)
    return f"at {line(entries[-1].tb_frame, entries[-1].tb_lineno)}" if entries else ""


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    return entries
