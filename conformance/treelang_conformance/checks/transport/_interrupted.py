"""Calls that are stopped half-way: the stages at which a call can stand, and what it ends with when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._addresses import SilentListener
from treelang_conformance.checks.transport._faults import ANSWER, Place, answered_until, raw_head
from treelang_conformance.checks.transport._vocabulary import events_to_first_text, stream_of
from treelang_conformance.outcome import type_name
from treelang_conformance.provider.script import Gate, Raw, Script, Send, Wait
from treelang_conformance.violation import Violation
from treelang_conformance.waiting import settle, where

Stage: TypeAlias = Callable[[Case, Gate], Script]
"""Makes the script that brings a call to a stage: it plays so far and waits at the gate."""


def _at(place: Place) -> Stage:
    return lambda case, gate: answered_until(case, place, Wait(gate))


def _inside_error_body(_case: Case, gate: Gate) -> Script:
    half = b'{"error": {"message": "The requ'
    return Raw((Send(raw_head(500, "application/json", 2 * len(half)) + half), Wait(gate)))


def _between_chunks(case: Case, gate: Gate) -> Script:
    return stream_of(events_to_first_text(case, ANSWER), Wait(gate))


def _inside_chunk(case: Case, gate: Gate) -> Script:
    begun = events_to_first_text(case, ANSWER)
    following = case.wire.events(ANSWER)[len(begun)]
    return stream_of(begun, Send(following.data[: len(following.data) // 2]), Wait(gate))


STAGES: Mapping[str, Stage] = {
    **{place.value: _at(place) for place in Place},
    "inside-an-error-body": _inside_error_body,
}
"""Where a call of either mode can stand while it waits for the provider."""

STREAM_STAGES: Mapping[str, Stage] = {"between-chunks": _between_chunks, "inside-a-chunk": _inside_chunk}
"""Where only a stream can stand, which then has yielded a chunk."""


async def brought_to(
    case: Case, stage: Stage, begin: Callable[[], Awaitable[Any]] | None = None, gate: Gate | None = None
) -> asyncio.Task[Any]:
    """Start a call in a task of its own; return the task once it waits at the stage.

    Args:
        case: Who makes the call.
        stage: Where it shall stand.
        begin: What the task runs, if it is not just the call.
        gate: Where the provider waits, for a check that opens it.
    """
    gate = gate or Gate()
    case.answers(stage(case, gate))
    transport = await case.transport()

    async def call() -> Any:
        return await (begin or functools.partial(case.invoke, transport=transport))()

    task = asyncio.create_task(call())
    reached = asyncio.create_task(gate.reached())
    first = asyncio.wait({task, reached}, return_when=asyncio.FIRST_COMPLETED)
    await case.within(first, "the provider to receive the request")
    reached.cancel()
    await settle()
    if task.done():
        error = await ended(case, task)
        if stage is _inside_error_body and isinstance(error, Exception):
            case.not_applicable("the transport raises at a failing status and does not wait for the body")
        raise Violation(
            expected="the call to wait for the provider",
            happened="it ended normally" if error is None else f"it raised {type_name(error)}",
        )
    return task


async def connecting_to(case: Case, listener: SilentListener) -> asyncio.Task[Any]:
    """Start a call in a task of its own; return the task once it waits for its TLS handshake to be answered."""
    transport = await case.transport(url=listener.url + case.wire.base_path)
    task = asyncio.create_task(case.invoke(transport=transport))
    await case.within(listener.heard(), "the client to begin its handshake")
    return task


_LATER = 3600.0


def let_time_pass() -> None:
    """Put the clock of the running event loop forward by an hour: every timer that is set is due in its next turn.

    Only the loop's own clock: the kit's bounds count real time. A loop with a clock that cannot be replaced (uvloop)
    goes on as it is, and what is set for later is then not seen.
    """
    loop = asyncio.get_running_loop()
    clock = loop.time
    with contextlib.suppress(AttributeError):
        loop.time = lambda: clock() + _LATER  # type: ignore[method-assign]  # a clock of the check's own loop


async def ended(case: Case, task: asyncio.Task[Any]) -> BaseException | None:
    """What a task ended with that was told to end; one that goes on is a violation that says where it stands."""
    try:
        await case.within(asyncio.wait({task}), "the call to end")
    except Violation as late:
        raise Violation(expected=late.expected, happened=f"it still stands {where(task)}") from None
    try:
        task.result()
    except BaseException as error:  # CancelledError is what is looked for
        return error
    return None


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep the collector from closing what a transport has forgotten."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
