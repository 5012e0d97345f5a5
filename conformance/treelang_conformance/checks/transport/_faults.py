"""Faults that checks share: failing statuses and their bodies, and answers that break off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from treelang import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransport,
    ModelTransportError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
    TreelangError,
)
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._vocabulary import reply_to, stream_of
from treelang_conformance.neutral import Answer, Failure
from treelang_conformance.outcome import Outcome
from treelang_conformance.provider.script import Close, Raw, Reply, Reset, Script, Send, Stall, Step
from treelang_conformance.registry import Mode
from treelang_conformance.wires.base import Wire

# --- kinds of errors ---

_KINDS: Mapping[type[ProviderResponseError], str] = {
    ModelAuthenticationError: "a credential that is refused",
    ModelRateLimitError: "a rate limit",
    ModelTimeoutError: "a timeout of the client",
    ModelConnectionError: "a connection that cannot be made or is lost",
    StructuredOutputUnsupportedError: "an explicit rejection of strict output",
    ModelTransportError: "a failure that the provider reports and that has no kind of its own",
    ProviderResponseError: "an answer that came and cannot be used",
}
"""The contract's kinds, the more specific before the more general, and what each of them tells its caller."""


def require_kind(case: Case, outcome: Outcome, kind: type[ProviderResponseError]) -> ProviderResponseError:
    """The call raised this kind and no more specific one of the contract; an adapter's own subclass will do."""
    if outcome.error is not None and not isinstance(outcome.error, TreelangError):
        case.require_error(outcome, kind)  # which says how a foreign exception is mended
    raised = next((known for known in _KINDS if isinstance(outcome.error, known)), None)
    only = " and none of its more specific kinds" if kind in (ModelTransportError, ProviderResponseError) else ""
    # What is too general was not classified at all, and the check's own hint would look for something finer.
    unclassified = f"{ProviderResponseError.__name__} means {_KINDS[ProviderResponseError]}; this was {_KINDS[kind]}."
    case.require(
        raised is kind,
        expected=f"{kind.__name__}{only}",
        happened=str(outcome),
        hint=unclassified if raised is ProviderResponseError else "",
    )
    assert isinstance(outcome.error, kind)  # noqa: S101  # told to the type checker; `require` has judged it
    return outcome.error


# --- failing statuses ---

CREDENTIAL_STATUSES = (401, 403)
RATE_LIMIT_STATUS = 429
OTHER_STATUSES = (400, 402, 404, 408, 409, 413, 418, 422, 499, 500, 501, 502, 503, 504, 529)
STATUSES = (*CREDENTIAL_STATUSES, RATE_LIMIT_STATUS, *OTHER_STATUSES)


def kind_of_status(status: int) -> type[ModelTransportError]:
    """What a failing status must be raised as (clauses ERR-1, ERR-2, ERR-5)."""
    if status in CREDENTIAL_STATUSES:
        return ModelAuthenticationError
    return ModelRateLimitError if status == RATE_LIMIT_STATUS else ModelTransportError


ErrorReply: TypeAlias = Callable[[Wire, int], Reply]
"""Makes a failing response: its body in a certain shape, under any status."""

_HTML = b"<!doctype html><html><head><title>Rate limit</title></head><body>401 Unauthorized</body></html>"
_JSON = {"content-type": "application/json"}


def _fixed(data: bytes, content_type: str | None = "application/json") -> ErrorReply:
    headers = {"content-type": content_type} if content_type else {}
    return lambda _wire, status: Reply.bytes(data, status=status, headers=headers)


BODIES: Mapping[str, ErrorReply] = {
    "flat-json": _fixed(
        b'{"object": "error", "message": "No.", "type": "BadRequestError", "param": null, "code": 400}'
    ),
    "string-error": _fixed(b'{"error": "No such thing."}'),
    "html": _fixed(_HTML, "text/html; charset=utf-8"),
    "text": _fixed(b"upstream connect error or disconnect/reset before headers", "text/plain"),
    "empty": _fixed(b"", None),
    "not-utf-8": _fixed(b'{"error": {"message": "\xff\xfe\xc3\x28", "type": "\x80"}}'),
}
"""Bodies of failing responses that gateways and compatible servers send, by shape."""

ODD_BODIES: Mapping[str, ErrorReply] = {
    "null-error": _fixed(b'{"error": null}'),
    "list-error": _fixed(b'{"error": [{"message": "No."}], "message": 7}'),
    "json-string": _fixed(b'"No."'),
    "json-list": _fixed(b'[{"error": {"message": "No."}}]'),
    "json-null": _fixed(b"null"),
    "html-called-json": _fixed(_HTML),
    "not-text": _fixed(bytes(range(256)), "application/octet-stream"),
    "events": _fixed(b'event: error\ndata: {"error": {"type": "rate_limit_error"}}\n\n', "text/event-stream"),
    "deeply-nested": _fixed(b"[" * 20_000),
}
"""Bodies of failing responses that trip whoever reads them with too much trust."""


def _breaking_off(step: Step, status: int) -> Reply:
    return Reply(status, _JSON, (Send(b'{"error": {"message": "The requ'), step), framing="chunked")


BROKEN_BODIES: Mapping[str, ErrorReply] = {
    "cut": lambda _wire, status: _breaking_off(Close(), status),
    "reset": lambda _wire, status: _breaking_off(Reset(), status),
    "stalled": lambda _wire, status: _breaking_off(Stall(), status),
}
"""Bodies of failing responses that never come whole, by what becomes of them."""


def in_band(case: Case, failure: Failure) -> Mapping[str, Reply]:
    """The failure under a successful status, in each form that it takes where this mode's caller asked."""
    if case.mode is Mode.STREAM:
        return {form: stream_of([event]) for form, event in case.wire.error_events(failure).items()}
    return case.wire.in_band_errors(failure)


# --- answers that break off ---

ANSWER = Answer.of("The tallest ", "tree is ", "a redwood.")


class Place(StrEnum):
    """How far a response has come when something happens to it."""

    BEFORE_HEADERS = "before-the-headers"
    INSIDE_HEADERS = "inside-the-headers"
    BEFORE_BODY = "between-headers-and-body"
    INSIDE_BODY = "inside-the-body"


def answered_until(case: Case, place: Place, *then: Step) -> Raw:
    """A sound answer in this mode's form that comes as far as `place`; then the steps are played."""
    whole = whole_reply(case)
    body = body_of(whole)
    head = raw_head(200, whole.headers["content-type"], len(body))
    match place:
        case Place.BEFORE_HEADERS:
            return Raw(then)
        case Place.INSIDE_HEADERS:
            return Raw((Send(head[: len(head) // 2]), *then))
        case Place.BEFORE_BODY:
            return Raw((Send(head), *then))
        case Place.INSIDE_BODY:
            return Raw((Send(head + body[: len(body) // 2]), *then))


def whole_reply(case: Case) -> Reply:
    """A sound answer in this mode's form."""
    reply = reply_to(case, ANSWER)
    assert isinstance(reply, Reply), "wires answer with replies"  # noqa: S101  # a defect of the wire, not of a subject
    return reply


def body_of(reply: Reply) -> bytes:
    """All bytes that a reply sends as its body."""
    return b"".join(step.data for step in reply.body if isinstance(step, Send))


def raw_head(status: int, content_type: str, length: int) -> bytes:
    """A status line and headers that promise `length` bytes, for `Raw`."""
    return f"HTTP/1.1 {status} .\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n".encode("ascii")


async def call_each(
    case: Case, replies: Mapping[str, Answer | Script], transport: ModelTransport, request: Any = None
) -> dict[str, Outcome]:
    """Make one call for each reply, all at the same time, so that what they wait for is waited for once.

    A request is answered by the number in its last message, so that each call gets its own reply, whatever becomes
    of the others. A call begins when the one before it has sent its request or has ended: so none waits for the
    processor while its client's timeout runs.
    """
    request = case.request() if request is None else request
    *before, last = request["messages"]
    scripts = [reply_to(case, reply) if isinstance(reply, Answer) else reply for reply in replies.values()]
    case.provider.answer_by(lambda received: scripts[int(_number_in(received.body))])
    calls: dict[str, asyncio.Task[Outcome]] = {}
    for number, name in enumerate(replies):
        expected = len(case.provider.requests) + 1
        numbered = {**request, "messages": [*before, {**last, "content": f"{last['content']} (call {number})"}]}
        calls[name] = asyncio.create_task(case.call(numbered, transport=transport))
        sent = asyncio.create_task(case.provider.request_received(expected))
        await asyncio.wait({sent, calls[name]}, return_when=asyncio.FIRST_COMPLETED)
        sent.cancel()
    return {name: await call for name, call in calls.items()}


def _number_in(body: bytes) -> bytes:
    return body.rpartition(b"(call ")[2].partition(b")")[0]
