"""ERR-3, ERR-4, ERR-12: faults of the line, and deadlines that are not the provider's.

A timeout of the client's connection pool (ERR-3) is not played: only its owner knows how many connections it holds.
"""

from __future__ import annotations

import asyncio
import itertools

from treelang import ModelConnectionError, ModelTimeoutError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._addresses import SilentListener, unknown_host, unread_url
from treelang_conformance.checks.transport._faults import (
    ANSWER,
    Place,
    answered_until,
    body_of,
    call_each,
    raw_head,
    require_kind,
)
from treelang_conformance.checks.transport._vocabulary import SHORT_TIMEOUT, events_to_first_text, opened, stream_of
from treelang_conformance.outcome import type_name
from treelang_conformance.provider.script import Close, Raw, Reset, Send, Stall, Step
from treelang_conformance.provider.unreachable import (
    UNKNOWN_HOST,
    CannotFillBacklog,
    refusing_url,
    unaccepting_url,
)
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import CouldNotRun, about

# --- the client's own timeouts ---

_TIMEOUTS = "Map every timeout of the SDK and of its HTTP library (connect, read, write, pool), in streams too."


@check("ERR-3", modes=BOTH, hint=_TIMEOUTS)
async def a_stall_is_a_timeout(case: Case) -> None:
    """A provider that stalls before or inside the headers or the body raises `ModelTimeoutError`."""
    scripts = {f"a stall {place}": answered_until(case, place, Stall()) for place in Place}
    transport = await case.transport(timeout=SHORT_TIMEOUT)
    for name, outcome in (await call_each(case, scripts, transport)).items():
        with about(name):
            error = require_kind(case, outcome, ModelTimeoutError)
            case.require(
                isinstance(error, TimeoutError),
                expected="an error that `except TimeoutError` catches",
                happened=f"{type_name(error)} is none",
            )


@check("ERR-3", modes=BOTH, hint=_TIMEOUTS)
async def an_attempt_to_connect_without_an_answer_is_a_timeout(case: Case) -> None:
    """A connection attempt that nobody takes raises `ModelTimeoutError`."""
    try:
        with unaccepting_url() as url:
            transport = await case.transport(url=url + case.wire.base_path, timeout=SHORT_TIMEOUT)
            require_kind(case, await case.call(transport=transport), ModelTimeoutError)
    except CannotFillBacklog as error:
        raise CouldNotRun(str(error)) from error


@check("ERR-3", modes=BOTH, hint=_TIMEOUTS)
async def a_handshake_without_an_answer_is_a_timeout(case: Case) -> None:
    """A TLS handshake that gets no answer raises `ModelTimeoutError`."""
    async with SilentListener() as listener:
        transport = await case.transport(url=listener.url + case.wire.base_path, timeout=SHORT_TIMEOUT)
        require_kind(case, await case.call(transport=transport), ModelTimeoutError)


_TOO_LARGE_TO_BUFFER = 8_000_000
"""Characters of a prompt that no pair of sockets takes whole while nobody reads: kernels buffer up to about 4 MB."""


@check("ERR-3", modes=(Mode.COMPLETE,), hint=_TIMEOUTS)
async def a_request_that_nobody_reads_is_a_timeout(case: Case) -> None:
    """A request that the provider's side does not take off the line raises `ModelTimeoutError`."""
    with unread_url() as url:
        transport = await case.transport(url=url + case.wire.base_path, timeout=SHORT_TIMEOUT)
        request = case.request(messages=[{"role": "user", "content": "a tree " * (_TOO_LARGE_TO_BUFFER // 7)}])
        require_kind(case, await case.call(request, transport=transport), ModelTimeoutError)


# --- lost and refused connections ---

_FAULTS = "Map every connection and protocol error of the SDK and of its HTTP library, in streams too."


@check("ERR-4", modes=BOTH, hint=_FAULTS)
async def a_refused_connection_is_a_connection_error(case: Case) -> None:
    """A port that refuses connections raises `ModelConnectionError`."""
    with refusing_url() as url:
        await _require_connection_error_at(case, url)


@check("ERR-4", modes=BOTH, hint=_FAULTS)
async def an_unknown_host_is_a_connection_error(case: Case) -> None:
    """A host name that does not exist raises `ModelConnectionError`."""
    with unknown_host(UNKNOWN_HOST.removeprefix("http://")):
        await _require_connection_error_at(case, UNKNOWN_HOST)


@check("ERR-4", modes=BOTH, hint=_FAULTS)
async def a_failed_handshake_is_a_connection_error(case: Case) -> None:
    """A TLS handshake with a server that speaks none raises `ModelConnectionError`."""
    await _require_connection_error_at(case, case.provider.url.replace("http://", "https://"))


async def _require_connection_error_at(case: Case, url: str) -> None:
    transport = await case.transport(url=url + case.wire.base_path)
    error = require_kind(case, await case.call(transport=transport), ModelConnectionError)
    case.require(
        isinstance(error, ConnectionError),
        expected="an error that `except ConnectionError` catches",
        happened=f"{type_name(error)} is none",
    )


_ENDINGS: dict[str, Step] = {"a close": Close(), "a reset": Reset()}


@check("ERR-4", modes=BOTH, hint=_FAULTS)
async def a_lost_connection_is_a_connection_error(case: Case) -> None:
    """A connection that the provider closes or resets before the answer is whole raises `ModelConnectionError`."""
    for place, (name, step) in itertools.product(Place, _ENDINGS.items()):
        case.answers(answered_until(case, place, step))
        with about(f"{name} {place}"):
            require_kind(case, await case.call(), ModelConnectionError)


@check(
    "ERR-4",
    modes=(Mode.COMPLETE,),
    hint="A body shorter than its Content-Length is a lost connection, even where what came can be decoded.",
)
async def a_body_short_of_its_promise_is_a_connection_error(case: Case) -> None:
    """A completion that is whole JSON, but a byte shorter than was promised, raises `ModelConnectionError`."""
    whole = case.wire.completion(ANSWER)
    body = body_of(whole)
    case.answers(Raw((Send(raw_head(200, whole.headers["content-type"], len(body) + 1) + body), Close())))
    require_kind(case, await case.call(), ModelConnectionError)


# --- deadlines that are not the client's ---

_NOT_THE_PROVIDERS = (
    "The caller's deadline comes as a cancellation and must pass as one; `except TimeoutError` belongs around nothing "
    "but the SDK's own calls, and around no `yield`."
)


@check("ERR-12", modes=BOTH, over={place.value: place for place in Place}, hint=_NOT_THE_PROVIDERS)
async def the_callers_deadline_is_not_the_providers(case: Case, place: Place) -> None:
    """A caller whose `asyncio.wait_for` expires sees the plain `TimeoutError`, however far the answer had come."""
    case.answers(answered_until(case, place, Stall()))
    transport = await case.transport()
    error: BaseException | None = None
    with case.bounded("a call under a deadline"):
        try:
            await asyncio.wait_for(case.invoke(transport=transport), timeout=_CALLERS_DEADLINE)
        except Exception as caught:  # whatever it is, it is judged
            error = caught
    case.require(
        type(error) is TimeoutError,
        expected="the plain TimeoutError",
        happened="the call ended normally" if error is None else f"the caller sees {type_name(error)}",
    )


_CALLERS_DEADLINE = 0.03
"""Seconds; the client's own timeout is far longer, and the answer never comes whole."""


@check("ERR-12", modes=(Mode.STREAM,), hint=_NOT_THE_PROVIDERS)
async def the_consumers_timeout_error_passes_a_stream(case: Case) -> None:
    """A plain `TimeoutError` that the consumer throws into a stream comes out as it is."""
    case.answers(stream_of(events_to_first_text(case, ANSWER), Stall()))
    async with opened(case) as stream:
        await case.within(anext(stream), "the first chunk")
        throw = getattr(stream, "athrow", None)
        if throw is None:
            case.not_applicable("nothing can be thrown into this iterator: it has no athrow()")
        own = TimeoutError("the consumer's")
        error: BaseException | None = None
        try:
            await case.within(throw(own), "athrow() to return")
        except Exception as caught:  # whatever it is, it is judged
            error = caught
    case.require(
        error is own,
        expected="the consumer's own TimeoutError",
        happened="nothing was raised" if error is None else f"{type_name(error)} was raised",
    )
