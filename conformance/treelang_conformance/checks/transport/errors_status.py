"""ERR-1, ERR-2, ERR-5, ERR-7, ERR-14, ERR-15, ERR-16: what a failing status is raised as, whatever its body."""

from __future__ import annotations

import dataclasses

from treelang import ModelTransportError
from treelang_conformance.cases.transport import CLIENT_TIMEOUT, Case
from treelang_conformance.checks.transport._faults import (
    BODIES,
    BROKEN_BODIES,
    CREDENTIAL_STATUSES,
    ODD_BODIES,
    OTHER_STATUSES,
    RATE_LIMIT_STATUS,
    STATUSES,
    ErrorReply,
    call_each,
    in_band,
    kind_of_status,
    require_kind,
)
from treelang_conformance.checks.transport._vocabulary import SHORT_TIMEOUT
from treelang_conformance.neutral import Failure
from treelang_conformance.registry import BOTH, check
from treelang_conformance.violation import about

_BY_STATUS = "Look at the status of the response; class names of SDKs and types in a body do not tell the kind."


@check("ERR-1", modes=BOTH, hint=_BY_STATUS)
async def a_refused_credential_is_an_authentication_error(case: Case) -> None:
    """401 and 403 raise `ModelAuthenticationError`, whatever type and code the body names."""
    await _require_kinds_whatever_the_type(case, CREDENTIAL_STATUSES)


@check("ERR-2", modes=BOTH, hint=_BY_STATUS)
async def too_many_requests_is_a_rate_limit_error(case: Case) -> None:
    """429 raises `ModelRateLimitError`, whatever type and code the body names."""
    await _require_kinds_whatever_the_type(case, (RATE_LIMIT_STATUS,))


@check(
    "ERR-5",
    modes=BOTH,
    hint="A gateway's 408 or 504 is no timeout of the SDK, and 402 is no refused credential: only 401, 403 and 429 "
    "have kinds of their own.",
)
async def any_other_failure_is_a_plain_transport_error(case: Case) -> None:
    """Any other failing status raises `ModelTransportError` and none of its kinds, whatever type the body names."""
    await _require_kinds_whatever_the_type(case, OTHER_STATUSES)


async def _require_kinds_whatever_the_type(case: Case, statuses: tuple[int, ...]) -> None:
    failures = case.wire.failures()
    for status in statuses:
        for name in ("authentication", "rate-limit"):
            failure = dataclasses.replace(failures[name], status=status)
            case.answers(case.wire.error(failure))
            with about(f"status {status} and the type of the failure {name!r} in the body"):
                require_kind(case, await case.call(), kind_of_status(status))


@check(
    "ERR-7",
    modes=BOTH,
    hint="Take the status from the response of the exception that the SDK raised.",
)
async def the_status_is_on_the_error(case: Case) -> None:
    """The error of a failing response has that response's status as `status_code`."""
    for status in STATUSES:
        case.answers(case.wire.error(Failure(status)))
        with about(f"status {status}"):
            error = case.require_error(await case.call(), ModelTransportError)
            told = getattr(error, "status_code", "no such attribute")
            fits = type(told) is int and told == status
            case.require(fits, expected=f"status_code {status}", happened=f"it is {told!r}")


_NEVER_BY_BODY = "Decide by the status alone; a body that cannot be read says nothing, and reading it must not fail."


@check("ERR-14", modes=BOTH, over=BODIES, hint=_NEVER_BY_BODY)
async def the_status_decides_whatever_the_body(case: Case, reply: ErrorReply) -> None:
    """Every failing status is raised as its kind when the body has this shape."""
    for status in STATUSES:
        case.answers(reply(case.wire, status))
        with about(f"status {status}"):
            require_kind(case, await case.call(), kind_of_status(status))


@check("ERR-14", modes=BOTH, hint=_NEVER_BY_BODY)
async def the_status_decides_over_a_body_that_cannot_be_read(case: Case) -> None:
    """A failing status is raised as its kind when the body is of another JSON shape, or not what it is called."""
    for name, reply in ODD_BODIES.items():
        for status in (401, 429, 500):
            case.answers(reply(case.wire, status))
            with about(f"status {status} and the body {name!r}"):
                require_kind(case, await case.call(), kind_of_status(status))


@check(
    "ERR-15",
    modes=BOTH,
    hint="Read the type and the code of the decoded body, in the provider's own envelope, into `code`.",
)
async def the_providers_own_code_is_on_the_error(case: Case) -> None:
    """`code` is the type or the code that the provider gave, under a failing status and in-band."""
    for name, failure in case.wire.failures().items():
        own = {failure.type, failure.code} - {None}
        reported = {f"an error in-band in the form {form!r}": reply for form, reply in in_band(case, failure).items()}
        replies = {f"status {failure.status}": case.wire.error(failure), **reported}
        for where, reply in replies.items():
            case.answers(reply)
            error = case.require_error(await case.call(), ModelTransportError)
            told = getattr(error, "code", "no such attribute")
            with about(f"the {name} failure as {where}"):
                case.require(
                    told in own, expected=f"code to be one of {sorted(map(str, own))}", happened=f"it is {told!r}"
                )


@check(
    "ERR-16",
    modes=BOTH,
    over=BROKEN_BODIES,
    hint="Where reading the body of a failing response breaks off, the HTTP library's exception hides the status: it "
    "is on that exception's context, or on the response that you hold.",
)
async def the_status_decides_even_when_the_body_breaks_off(case: Case, reply: ErrorReply) -> None:
    """Every failing status is raised as its kind when its body is cut, reset or stalls."""
    # Only a body that stalls is to meet the client's timeout, and many calls at once need time to get there.
    stalls = reply is BROKEN_BODIES["stalled"]
    transport = await case.transport(timeout=4 * SHORT_TIMEOUT if stalls else CLIENT_TIMEOUT)
    scripts = {f"status {status}": reply(case.wire, status) for status in STATUSES}
    outcomes = await call_each(case, scripts, transport)
    for status, (name, outcome) in zip(STATUSES, outcomes.items(), strict=True):
        with about(name):
            require_kind(case, outcome, kind_of_status(status))
