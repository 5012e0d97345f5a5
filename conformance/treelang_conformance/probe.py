"""The first build of a subject and its first use, before any check and its bounds in time.

A factory that cannot build makes the run impossible. How a transport's first call ends is of no interest: SDKs load
much of themselves only when they are first used, which can take longer than any check allows.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from treelang import ModelTransport
from treelang_conformance import canaries
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.hosting import simple_tool
from treelang_conformance.isolation import run_isolated
from treelang_conformance.leftovers import LeftoversWatch
from treelang_conformance.outcome import type_name
from treelang_conformance.registry import SuiteName, wiring_check
from treelang_conformance.report import CheckOutcome, CheckResult, FailureDetails
from treelang_conformance.subject import AnySubject, NegotiatorSubject, Subject, ToolProviderSubject
from treelang_conformance.violation import Violation
from treelang_conformance.wires.base import Wire

_BUILD_SECONDS = 20.0  # generous: the first build imports a provider's SDK
_FIRST_CALL_SECONDS = 10.0
_NOWHERE = "http://127.0.0.1:9"  # building must not connect; the discard port answers nobody


_METHODS: Mapping[SuiteName, tuple[str, ...]] = {
    SuiteName.TRANSPORT: ("complete", "stream"),
    SuiteName.NEGOTIATOR: ("capabilities", "structured_output", "fallback_after_rejection"),
    SuiteName.TOOLS: ("list_tools", "get_tool_definition", "call_tool"),
}


_CALLED: Mapping[SuiteName, str] = {
    SuiteName.TRANSPORT: "calls it with an endpoint",
    SuiteName.NEGOTIATOR: "calls it with nothing",
    SuiteName.TOOLS: "calls it with a sequence of tools",
}


class SubjectError(Exception):
    """The factory does not make what it should; the message says what it did instead."""


def probe(subject: AnySubject, wire: Wire | None = None) -> str:
    """Build what is under test, use it once where that loads an SDK, close it, and return the name of its type.

    Raises:
        SubjectError: The factory raises, hangs, or makes something that lacks a method.
    """
    made: list[str] = []

    def judge(built: object) -> None:
        if built is None:
            raise SubjectError("the factory returned None; does it lack a `return`?")
        for method in _METHODS[subject.suite]:
            if not callable(getattr(built, method, None)):
                raise SubjectError(f"the factory made a {type(built).__name__}, which has no {method}()")
        made.append(type(built).__name__)  # from here on, whatever happens is the checks' to judge

    async def build(_watch: LeftoversWatch) -> None:
        match subject:
            case Subject() if wire is not None:
                transport = await subject.build(
                    Endpoint(_NOWHERE + wire.base_path, canaries.API_KEY, 5.0, wire.name, wire.model)
                )
                judge(transport)
                await _call_once(transport, wire)
                await subject.dispose(transport)
            case NegotiatorSubject():
                negotiator = await subject.build()
                judge(negotiator)
                await subject.dispose(negotiator)
            case ToolProviderSubject():
                async with subject.hosting((simple_tool(),)) as provider:
                    judge(provider)

    error = run_isolated(build, seconds=_BUILD_SECONDS)
    if made:
        return made[0]
    match error:
        case SubjectError():
            raise error
        case Violation():
            raise SubjectError(f"the factory does not return: {error.happened}")
        case None:
            raise SubjectError("the factory ended its event loop")
        case _:
            reason = " ".join(str(error).split()).replace(canaries.API_KEY, "***")
            called = f"; the suite {subject.suite} {_CALLED[subject.suite]}" if isinstance(error, TypeError) else ""
            raise SubjectError(f"the factory raised {type_name(error)}: {reason}{called}") from error


async def _call_once(transport: ModelTransport, wire: Wire) -> None:
    request = {"model": wire.model, "messages": [{"role": "user", "content": "Is anybody there?"}]}
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_FIRST_CALL_SECONDS):
            await transport.complete(request)


def unbuildable(suite: SuiteName, happened: str) -> CheckResult:
    """The result of the wiring check of a subject that cannot even be built."""
    check = wiring_check(suite)
    return CheckResult(
        id=check.id,
        description=check.description,
        outcome=CheckOutcome.FAILED,
        seconds=0,
        failure=FailureDetails(expected="the factory to make a subject", happened=happened, hint=check.hint),
    )
