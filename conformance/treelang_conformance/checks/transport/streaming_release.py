"""STR-10, STR-12, STR-14: streams that are closed early, never begun, or interrupted by their consumer."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from treelang import ModelConnectionError, ModelTimeoutError, ProviderResponseError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._vocabulary import (
    ANSWER,
    FAILURES,
    ReplyMaker,
    error_event,
    events_to_first_text,
    opened,
    require_nothing_left,
    require_released,
    stream_of,
)
from treelang_conformance.neutral import Failure
from treelang_conformance.outcome import type_name
from treelang_conformance.provider.record import ConnectionState
from treelang_conformance.provider.script import Reply, Script, Send, Stall
from treelang_conformance.registry import Mode, check
from treelang_conformance.violation import about
from treelang_conformance.waiting import settle

_STREAM = (Mode.STREAM,)


@contextlib.asynccontextmanager
async def _begun(case: Case, *, all_sent: bool = False) -> AsyncIterator[AsyncGenerator[str, None]]:
    """A stream whose first chunk was taken, while the provider holds the connection open."""
    events = case.wire.events(ANSWER)[:-1] if all_sent else events_to_first_text(case, ANSWER)
    case.answers(stream_of(events, Stall()))
    async with opened(case) as stream:
        case.require(
            hasattr(stream, "aclose"),
            expected="an iterator that can be closed early, with aclose()",
            happened=f"stream() returned a {type(stream).__name__} without it",
        )
        await case.within(anext(stream), "the first chunk")
        yield cast("AsyncGenerator[str, None]", stream)


@contextlib.contextmanager
def _nothing_logged(case: Case) -> Iterator[None]:
    """Whatever happens inside is worth no record of level warning or above, by whatever logger."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = records.append  # type: ignore[method-assign,assignment]  # a class for one method would say less
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
    told = [f"{record.name} {record.levelname}" for record in records]
    case.require(not told, expected="nothing to be logged", happened=f"these loggers spoke: {', '.join(told)}")


_AT_ONCE_SECONDS = 1.0
"""How long the provider may take to notice what the client has done already."""


async def _require_released_at_once(case: Case) -> None:
    """The provider sees the connection released by what has been done so far, and by nothing that would come later.

    A client's event loop needs some turns to close a socket. Then it stands still, until the provider has noticed.
    """
    await settle()
    waiting = asyncio.wait_for(case.provider.released(), _AT_ONCE_SECONDS * case.patience)
    with ThreadPoolExecutor(1) as elsewhere:
        late = elsewhere.submit(asyncio.run, waiting).exception()  # blocks this loop, which is the point
    case.require(
        late is None,
        expected="the connection to be released when closing has returned",
        happened="the provider still saw it held, though the event loop had had its turns",
        hint="Await the closing of the response; leave it neither to a timer nor to a task in the background.",
    )


_HOLD_THE_RESPONSE = "Hold the SDK's response in an async with inside the generator: a bare async for leaves it open."


@check("STR-10", modes=_STREAM, over={"rest-withheld": False, "rest-unread": True}, hint=_HOLD_THE_RESPONSE)
async def closing_early_releases_the_connection(case: Case, all_sent: bool) -> None:
    """`aclose()` after the first chunk closes the response at once, and nothing is logged, warned or left behind."""
    with _nothing_logged(case):
        async with _begun(case, all_sent=all_sent) as stream:
            await case.within(stream.aclose(), "aclose() to return")
            await _require_released_at_once(case)
            after = [chunk async for chunk in stream]
        await require_nothing_left(case)
    case.require(not after, expected="no chunk after aclose()", happened=f"{after!r} was yielded")


@check("STR-10", modes=_STREAM, hint=_HOLD_THE_RESPONSE)
async def leaving_an_aclosing_block_releases_the_connection(case: Case) -> None:
    """Breaking out of the loop inside an `aclosing` block closes the response at once, silently."""
    case.answers(stream_of(events_to_first_text(case, ANSWER), Stall()))
    transport = await case.transport()
    with _nothing_logged(case):
        with case.bounded("a loop that is left at its first chunk"):
            stream = cast("AsyncGenerator[str, None]", transport.stream(case.request()))
            async with contextlib.aclosing(stream):
                async for _ in stream:
                    break
        await _require_released_at_once(case)
        await require_nothing_left(case)


@check("STR-10", modes=_STREAM, hint="Closing must not depend on what an earlier closing has left.")
async def closing_twice_is_harmless(case: Case) -> None:
    """A stream can be closed again after it was closed, and after its end, without an error."""
    async with _begun(case) as stream:
        await stream.aclose()
        await stream.aclose()
    case.answers(ANSWER)
    async with opened(case) as whole:
        text = "".join([chunk async for chunk in whole])
        await cast("AsyncGenerator[str, None]", whole).aclose()
    case.require(text == ANSWER.text, expected=f"the text {ANSWER.text!r}", happened=f"{text!r} was streamed")


@check(
    "STR-12",
    modes=_STREAM,
    over={"dropped": False, "closed": True},
    hint="Send the request at the first __anext__, not when stream() is called.",
)
async def a_stream_that_is_never_begun_leaves_nothing_open(case: Case, closed: bool) -> None:
    """A stream that nobody iterates, dropped or closed, leaves no connection, task or warning behind."""
    transport = await case.transport()
    stream = transport.stream(case.request())
    if closed:
        await case.within(cast("AsyncGenerator[str, None]", stream).aclose(), "aclose() to return")
    del stream
    await require_nothing_left(case)
    busy = [one for one in case.provider.connections if one.state is ConnectionState.BUSY]
    case.require(not busy, expected="no open connection", happened=f"the provider still sees {len(busy)}")
    case.answers(ANSWER)
    case.require_text(await case.call(), ANSWER.text)


def _then_open(case: Case, *more: bytes) -> Script:
    """A stream of one chunk and something more, held open by the provider after that."""
    return stream_of(events_to_first_text(case, ANSWER), *(Send(data) for data in more), Stall())


_LEFT_OPEN: dict[str, ReplyMaker] = {
    "error-event-held-open": lambda case: _then_open(case, error_event(case, Failure(500)).data),
    "broken-event-held-open": lambda case: _then_open(case, _broken(case)),
    "error-status": lambda case: case.wire.error(Failure(500)),
    "html-held-open": lambda _: Reply(body=(Send(b"<html>"),), headers={"content-type": "text/html"}),
}


def _broken(case: Case) -> bytes:
    """A text event whose content is cut short by one character, with its ending as it was."""
    data = events_to_first_text(case, ANSWER)[-1].data
    content = data.rstrip(b"\n")
    return content[:-1] + data[len(content) :]


@check(
    "STR-12",
    modes=_STREAM,
    over={**FAILURES, **_LEFT_OPEN},
    hint="Close the response on every way out of the generator, also when an error is raised while it is read.",
)
async def a_stream_that_fails_leaves_nothing_open(case: Case, failure: ReplyMaker) -> None:
    """After a stream that failed the connection is released, with no task, generator or warning left behind."""
    case.answers(failure(case))
    outcome = await case.call()
    case.require(outcome.error, expected="the stream to fail", happened=str(outcome))
    await require_released(case)
    await require_nothing_left(case)


_CONSUMERS_OWN: tuple[type[Exception], ...] = (
    ValueError,
    KeyError,
    RuntimeError,
    TimeoutError,
    ConnectionError,
    OSError,
    UnicodeError,
    ProviderResponseError,
    ModelTimeoutError,
    ModelConnectionError,
)
_KEEP_YIELD_OUTSIDE = "Put no yield inside the block that translates the SDK's exceptions."


@check("STR-14", modes=_STREAM, hint=_KEEP_YIELD_OUTSIDE)
async def what_the_consumer_throws_in_comes_out_unchanged(case: Case) -> None:
    """An exception thrown into the iterator leaves it as it was and as the same object, and releases the stream."""
    for kind in _CONSUMERS_OWN:
        with about(f"a {kind.__name__} thrown in"):
            await _require_thrown_out(case, kind("the consumer's own"))


async def _require_thrown_out(case: Case, thrown: Exception) -> None:
    before = _marks(thrown)
    async with _begun(case) as stream:
        if not hasattr(stream, "athrow"):
            case.not_applicable("nothing can be thrown into this iterator")
        caught = await _thrown_out(stream, thrown)
        await require_released(case)
    case.require(
        caught is thrown,
        expected=f"the very {type(thrown).__name__} that was thrown in",
        happened="the stream ended" if caught is None else f"{type_name(caught)} was raised",
    )
    _require_unmarked(case, thrown, before)


async def _thrown_out(stream: AsyncGenerator[str, None], error: Exception) -> BaseException | None:
    """What leaves the iterator when `error` is thrown into it."""
    try:
        await stream.athrow(error)
    except Exception as caught:  # whatever it is, it is the answer
        return caught
    return None


@check("STR-14", modes=_STREAM, hint=_KEEP_YIELD_OUTSIDE)
async def what_the_consumer_raises_in_its_loop_passes_unchanged(case: Case) -> None:
    """An exception that the consumer raises between two chunks leaves its loop unchanged, and releases the stream."""
    for kind in _CONSUMERS_OWN:
        with about(f"a {kind.__name__} raised in the loop"):
            await _require_passed_through(case, kind("the consumer's own"))


async def _require_passed_through(case: Case, raised: Exception) -> None:
    before = _marks(raised)
    try:
        async with _begun(case):
            raise raised
    except type(raised) as caught:
        case.require(
            caught is raised,
            expected=f"the very {type(raised).__name__} that was raised",
            happened=f"another {type_name(caught)} came out",
        )
    _require_unmarked(case, raised, before)
    await require_released(case)


def _marks(error: Exception) -> dict[str, Any]:
    """What can be changed of an exception that is passed on as the same object; notes are among its attributes."""
    attributes = {name: copy.copy(value) for name, value in vars(error).items()}
    return {"args": error.args, "__cause__": error.__cause__, **attributes}


def _require_unmarked(case: Case, error: Exception, before: dict[str, Any]) -> None:
    after = _marks(error)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    case.require(
        not changed,
        expected=f"the consumer's {type(error).__name__} as it was",
        happened=f"the transport has changed its {', '.join(changed)}",
        hint="It is the consumer's own: add no note to it, and give it no cause, provider or other attribute.",
    )
