"""ERR-6, ERR-7, ERR-9, ERR-13: what every error carries, whatever went wrong."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from treelang import ProviderResponseError, TreelangError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._faults import Place, answered_until, call_each, in_band
from treelang_conformance.checks.transport._vocabulary import SHORT_TIMEOUT
from treelang_conformance.neutral import Answer, Failure, Finish
from treelang_conformance.outcome import type_name
from treelang_conformance.provider.script import Close, Reply, Reset, Script, Stall
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import Violation, about


def _failing_responses(case: Case) -> dict[str, Answer | Script]:
    failures = (Failure(status, headers={"retry-after": "7"}) for status in (400, 401, 403, 429, 500, 529))
    rejection = next(iter(case.wire.rejections().values()))
    return {
        **{f"status {failure.status}": case.wire.error(failure) for failure in failures},
        "a rejection of strict output": case.wire.error(rejection),
    }


def _faults(case: Case) -> dict[str, Answer | Script]:
    return {
        "a connection closed before the headers": answered_until(case, Place.BEFORE_HEADERS, Close()),
        "a connection reset inside the body": answered_until(case, Place.INSIDE_BODY, Reset()),
        "a stall before the headers": answered_until(case, Place.BEFORE_HEADERS, Stall()),
        "a stall inside the body": answered_until(case, Place.INSIDE_BODY, Stall()),
    }


def _invalid_answers(case: Case) -> dict[str, Answer | Script]:
    return {
        **{
            f"the {name} failure in-band in the form {form!r}": reply
            for name, failure in case.wire.failures().items()
            for form, reply in in_band(case, failure).items()
        },
        "a page in place of an answer": Reply.bytes(b"<html></html>", headers={"content-type": "text/html"}),
        "an answer of another shape": Reply.bytes(b"{}", headers={"content-type": "application/json"}),
        "an answer that was broken off": Answer.of("A red", finish=Finish.LENGTH),
        "an answer without text": Answer(()),
    }


async def _errors(case: Case, replies: Mapping[str, Answer | Script]) -> dict[str, ProviderResponseError]:
    """What a strict call raises for each reply, all on one transport."""
    transport = await case.transport(timeout=SHORT_TIMEOUT)
    errors: dict[str, ProviderResponseError] = {}
    for name, outcome in (await call_each(case, replies, transport, case.strict_request())).items():
        with about(name):
            error = case.require_error(outcome, ProviderResponseError)
        assert isinstance(error, ProviderResponseError)  # noqa: S101  # told to the type checker
        errors[name] = error
    return errors


@check(
    "ERR-6",
    modes=BOTH,
    hint="Give the transport's one name to every error that it makes, also to those of streams and of invalid answers.",
)
async def every_error_names_the_same_provider(case: Case) -> None:
    """All errors of one transport, of every kind, carry the same non-empty `provider`."""
    errors = await _errors(case, {**_failing_responses(case), **_faults(case), **_invalid_answers(case)})
    first = next(iter(errors.values())).provider
    for name, error in errors.items():
        with about(name):
            _require_name(case, error.provider, first)
    other = Mode.COMPLETE if case.mode is Mode.STREAM else Mode.STREAM
    case.answers(case.wire.error(Failure(500)))
    outcome = await case.call(mode=other)
    with about(f"a {other.value} call"):
        _require_name(case, getattr(outcome.error, "provider", None), first)


def _require_name(case: Case, name: Any, first: Any) -> None:
    case.require(
        isinstance(name, str) and name and name == first,
        expected=f"provider {first!r}, as on the transport's other errors" if first else "a name in `provider`",
        happened=f"it is {name!r}",
    )


@check(
    "ERR-7",
    modes=BOTH,
    hint="An error that came under status 200, or without a response, has no failing status to tell: leave it `None`.",
)
async def an_error_without_a_failing_response_has_no_status(case: Case) -> None:
    """`status_code` is `None` for lost connections, timeouts, errors in-band and invalid answers."""
    for name, error in (await _errors(case, {**_faults(case), **_invalid_answers(case)})).items():
        with about(name):
            case.require(
                error.status_code is None, expected="status_code None", happened=f"it is {error.status_code!r}"
            )


@check("ERR-9", modes=BOTH, hint="Raise the contract's error `from` the exception that was caught, not `from None`.")
async def the_cause_is_the_original_exception(case: Case) -> None:
    """`__cause__` is the exception that the SDK or the HTTP library raised for a status, a lost line or a timeout."""
    for name, error in (await _errors(case, {**_failing_responses(case), **_faults(case)})).items():
        cause = error.__cause__
        with about(name):
            case.require(
                isinstance(cause, Exception) and not isinstance(cause, TreelangError) and cause.__traceback__,
                expected="the original exception as `__cause__`",
                happened="it is None" if cause is None else f"it is {_described(cause)}",
            )


def _described(cause: BaseException) -> str:
    return type_name(cause) + ("" if cause.__traceback__ else ", which nobody has raised")


_WAYS: dict[str, Callable[[Any], Any]] = {
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "pickled": lambda error: pickle.loads(pickle.dumps(error)),  # noqa: S301  # the bytes were made in the same line
}


@check(
    "ERR-13",
    modes=BOTH,
    hint="An exception with keyword-only attributes needs a `__reduce__`; keep no response or client in an attribute.",
)
async def an_error_survives_being_copied(case: Case) -> None:
    """A copied, deeply copied or pickled error has the type, text and attributes of the one that was raised."""
    errors = await _errors(case, {**_failing_responses(case), **_faults(case), **_invalid_answers(case)})
    for (name, error), (way, copied_by) in itertools.product(errors.items(), _WAYS.items()):
        with about(f"{name}, {way}"):
            try:
                told = _told(copied_by(error))
            except Exception as failure:  # whatever it is, it is the verdict
                raise Violation(
                    expected="an error that can be copied", happened=f"{type_name(failure)} was raised"
                ) from failure
            lost = [what for what, value in _told(error).items() if told[what] != value]
            case.require(
                not lost, expected="a copy that is like the error", happened=f"it differs in {', '.join(lost)}"
            )


def _told(error: BaseException) -> dict[str, Any]:
    attributes = ("provider", "status_code", "retry_after", "code")
    return {
        "its type": type(error),
        "its text": str(error),
        "args": error.args,
        **{name: getattr(error, name, "no such attribute") for name in attributes},
    }
