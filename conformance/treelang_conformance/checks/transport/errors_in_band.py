"""ERR-11: failures that a provider reports under a successful status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treelang import ModelAuthenticationError, ModelRateLimitError, ModelTransportError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._faults import ANSWER, in_band, require_kind
from treelang_conformance.checks.transport._vocabulary import events_to_first_text, require_chunks, stream_of
from treelang_conformance.neutral import Failure
from treelang_conformance.provider.script import Close, Step
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import about
from treelang_conformance.wires.base import Event

_KINDS: Mapping[str, type[ModelTransportError]] = {
    "authentication": ModelAuthenticationError,
    "permission": ModelAuthenticationError,
    "rate-limit": ModelRateLimitError,
    "other": ModelTransportError,
}
_IN_BAND = {name: name for name in _KINDS}


@check(
    "ERR-11",
    modes=BOTH,
    over=_IN_BAND,
    hint="SDKs make an empty answer, or an empty stream, of an error object under status 200: look for it first.",
)
async def an_error_object_under_success_is_classified(case: Case, name: str) -> None:
    """An error object as the whole body of a 200 raises the kind that its type or code names."""
    for form, reply in case.wire.in_band_errors(case.wire.failures()[name]).items():
        case.answers(reply)
        with about(f"the form {form!r}"):
            require_kind(case, await case.call(), _KINDS[name])


_BY_TYPE = "Classify by the type or code inside the event; the SDK's exception for it has no useful status or class."


@check("ERR-11", modes=(Mode.STREAM,), over=_IN_BAND, hint=_BY_TYPE)
async def an_error_event_before_any_chunk_is_classified(case: Case, name: str) -> None:
    """An error as the first event of a stream raises the kind that its type or code names."""
    await _require_kind_after(case, [], name)


@check("ERR-11", modes=(Mode.STREAM,), over=_IN_BAND, hint=_BY_TYPE)
async def an_error_event_after_a_chunk_is_classified(case: Case, name: str) -> None:
    """An error event behind a chunk raises its kind after that chunk, though the connection is then cut."""
    await _require_kind_after(case, events_to_first_text(case, ANSWER), name, Close())


async def _require_kind_after(case: Case, begun: list[Event], name: str, *then: Step) -> None:
    for form, event in case.wire.error_events(case.wire.failures()[name]).items():
        case.answers(stream_of([*begun, event], *then))
        outcome = await case.call()
        with about(f"the form {form!r}"):
            require_kind(case, outcome, _KINDS[name])
            require_chunks(case, outcome, "".join(event.text for event in begun))


_UNTYPED: Mapping[str, Any] = {
    "a text": {"error": "The model is not loaded."},
    "a message alone": {"error": {"message": "The model is not loaded."}},
}


@check("ERR-11", modes=BOTH, hint="Not every server gives its error an object, or its object a type: look at `error`.")
async def an_error_without_a_type_is_a_plain_transport_error(case: Case) -> None:
    """An error that is no more than a text, as compatible servers send it, raises `ModelTransportError`."""
    if all(rejection.body is None for rejection in case.wire.rejections().values()):
        case.not_applicable("no server is known that words errors of this wire in its own way")
    for what, body in _UNTYPED.items():
        for form, reply in in_band(case, Failure(500, body=body)).items():
            case.answers(reply)
            with about(f"{what} as the error, in the form {form!r}"):
                require_kind(case, await case.call(), ModelTransportError)


@check("ERR-11", modes=BOTH, hint="A type that is not known is still an error: the plain kind, not a normal end.")
async def an_error_of_an_unknown_type_is_a_plain_transport_error(case: Case) -> None:
    """An error of a type that nobody has heard of, and of a message that names others, raises `ModelTransportError`."""
    words = "authentication_error: invalid_api_key, rate_limit_exceeded, 401 Unauthorized, 429 Too Many Requests"
    failure = Failure(500, words, type="x_unheard_of", code="x_unheard_of")
    for form, reply in in_band(case, failure).items():
        case.answers(reply)
        with about(f"the form {form!r}"):
            require_kind(case, await case.call(), ModelTransportError)
