"""CAN-3, CAN-4, CAN-6 to CAN-8: what a cancelled call does to connections, to its neighbours, and leaves behind."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import Any

from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._faults import ANSWER, Place, answered_until
from treelang_conformance.checks.transport._interrupted import (
    STAGES,
    STREAM_STAGES,
    Stage,
    brought_to,
    ended,
    no_garbage_collection,
)
from treelang_conformance.checks.transport._vocabulary import (
    Withholding,
    events_to_first_text,
    halved,
    held,
    opened,
    reply_to,
    require_nothing_left,
    require_released,
    stream_of,
)
from treelang_conformance.neutral import Answer
from treelang_conformance.outcome import type_name
from treelang_conformance.provider.script import Gate, Stall
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import about

_RELEASE = (
    "Hold the SDK's response in an `async with` around all that reads it, so that it is closed on the way out, "
    "whatever the way."
)


@check("CAN-3", modes=BOTH, over=STAGES, hint=_RELEASE)
@check("CAN-3", modes=(Mode.STREAM,), over=STREAM_STAGES, hint=_RELEASE)
async def the_connection_of_a_cancelled_call_is_released(case: Case, stage: Stage) -> None:
    """The provider sees the connection of a cancelled call closed or idle, without garbage collection.

    A TLS handshake is not among the stages: HTTP libraries leave the socket of a cancelled one to the garbage
    collector (httpcore2 2.16 closes it after an `Exception` alone), and no adapter above them can reach it.
    """
    with no_garbage_collection():
        task = await brought_to(case, stage)
        task.cancel()
        await ended(case, task)
        await require_released(case)


@check("CAN-3", modes=(Mode.STREAM,), hint="Closing must go on to its end when it is cancelled.")
async def a_stream_cancelled_while_it_closes_is_released(case: Case) -> None:
    """Cancelled at any turn of closing a stream early, the provider still sees the connection released."""
    begun = stream_of(events_to_first_text(case, ANSWER), Stall())
    with no_garbage_collection():
        for turns in range(_CLOSING_TURNS):
            case.answers(begun)
            async with opened(case) as stream:
                await case.within(anext(stream), "the first chunk")
                closing = asyncio.create_task(_close(stream))
                for _ in range(turns):
                    await asyncio.sleep(0)
                closing.cancel()
                error = await ended(case, closing)
            with about(f"a cancellation {turns} turns into aclose()"):
                case.require(
                    error is None or isinstance(error, asyncio.CancelledError),
                    expected="aclose() to return, or to pass the cancellation on",
                    happened=f"it raised {type_name(error) if error else ''}",
                )
                await require_released(case)


_CLOSING_TURNS = 6
"""More turns of the event loop than closing a connection takes."""


async def _close(stream: Any) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()


_WAVES, _WAVE = 8, 13
"""Together more than the 100 connections that HTTP libraries hold by default; in waves, to have them soon ended."""


@check("CAN-4", hint="A cancelled call that keeps its place in the connection pool takes it from the others.")
async def many_cancelled_calls_leave_room_for_the_next(case: Case) -> None:
    """After 104 calls, some complete and some streamed, were cancelled wherever they stood, the next are served.

    A pool that holds more than these cannot be exhausted in a sensible time; CAN-3 judges its connections.
    """
    transport = await case.transport()
    stalled = answered_until(case, Place.INSIDE_BODY, Stall())
    last = {Mode.COMPLETE: case.wire.completion(ANSWER), Mode.STREAM: case.event_stream(ANSWER)}
    # Chosen by a word in the request, because requests of cancelled calls may still be on their way.
    case.provider.answer_by(
        lambda request: next((last[mode] for mode in last if _last_word(mode).encode() in request.body), stalled)
    )
    for _ in range(_WAVES):
        sent = len(case.provider.requests)
        modes = itertools.islice(itertools.cycle(last), _WAVE)
        calls = [asyncio.create_task(case.invoke(transport=transport, mode=mode)) for mode in modes]
        await case.within(case.provider.request_received(sent + 1), "a request of the calls to be cancelled")
        for call in calls:
            call.cancel()
        with case.bounded("the cancelled calls"):
            await asyncio.gather(*calls, return_exceptions=True)
    for mode in last:
        request = case.request(messages=[{"role": "user", "content": _last_word(mode)}])
        case.require_text(await case.call(request, mode=mode), ANSWER.text)


def _last_word(mode: Mode) -> str:
    return f"the-last-call-in-mode-{mode}"


@check("CAN-6", modes=BOTH, hint="A cancelled call must close its own response, and never the client that it shares.")
async def the_neighbours_of_a_cancelled_call_go_on(case: Case) -> None:
    """Two calls that wait, before their headers and inside their body, get their texts after a third is cancelled."""
    neighbours: list[tuple[asyncio.Task[Any], Gate, str]] = []
    for name, withhold in (("the first ", held), ("the second ", halved)):
        gate, answer = Gate(), Answer.of(name, "neighbour's ", "text")
        task = await brought_to(case, _withholding(withhold, answer), gate=gate)
        neighbours.append((task, gate, answer.text))
    for stage in (STAGES[Place.BEFORE_HEADERS], STAGES[Place.INSIDE_BODY]):
        cancelled = await brought_to(case, stage)
        cancelled.cancel()
        await ended(case, cancelled)
    for task, gate, text in neighbours:
        gate.open()
        error = await ended(case, task)
        case.require(
            error is None and "".join(task.result()) == text,
            expected=f"the neighbour to get its text {text!r}",
            happened=f"it raised {type_name(error)}" if error else f"it got {task.result()!r}",
        )


def _withholding(withhold: Withholding, answer: Answer) -> Stage:
    return lambda case, gate: withhold(reply_to(case, answer), gate)


_LEAVE_NOTHING = (
    "Await what you start: a task that closes or reads on in the background outlives the call, and a generator is "
    "closed by `aclosing` or an `async with`, not by forgetting it."
)


@check("CAN-7", modes=BOTH, over=STAGES, hint=_LEAVE_NOTHING)
@check("CAN-7", modes=(Mode.STREAM,), over=STREAM_STAGES, hint=_LEAVE_NOTHING)
async def a_cancelled_call_leaves_nothing_behind(case: Case, stage: Stage) -> None:
    """After a cancellation no task runs on, no exception waits to be retrieved, and no generator is left open."""
    task = await brought_to(case, stage)
    task.cancel()
    await ended(case, task)
    del task
    await require_nothing_left(case)


@check("CAN-8", modes=(Mode.STREAM,), hint=_RELEASE)
async def a_consumer_cancelled_in_its_own_code_releases_the_stream(case: Case) -> None:
    """A consumer that is cancelled between two chunks, inside an `aclosing` block, releases the connection."""
    case.answers(stream_of(events_to_first_text(case, ANSWER), Stall()))
    transport = await case.transport()
    consuming = asyncio.Event()

    async def consume() -> None:
        async with contextlib.aclosing(transport.stream(case.request())) as stream:  # type: ignore[type-var]
            async for _ in stream:
                consuming.set()
                await asyncio.Event().wait()

    with no_garbage_collection():
        task = asyncio.create_task(consume())
        await case.within(consuming.wait(), "the first chunk")
        task.cancel()
        error = await ended(case, task)
        case.require(
            isinstance(error, asyncio.CancelledError),
            expected="the consumer to end in CancelledError",
            happened="it ended normally" if error is None else f"it raised {type_name(error)}",
        )
        await require_released(case)
    del task, error
    await require_nothing_left(case)


@check("CAN-8", modes=(Mode.STREAM,), hint=_RELEASE)
async def a_stream_can_be_closed_after_its_consumer_was_cancelled(case: Case) -> None:
    """A stream whose consumer was cancelled between two chunks releases the connection when it is closed later."""
    case.answers(stream_of(events_to_first_text(case, ANSWER), Stall()))
    async with opened(case) as stream:
        consuming = asyncio.Event()

        async def consume() -> None:
            async for _ in stream:
                consuming.set()
                await asyncio.Event().wait()

        with no_garbage_collection():
            task = asyncio.create_task(consume())
            await case.within(consuming.wait(), "the first chunk")
            task.cancel()
            await ended(case, task)
            await case.within(_close(stream), "aclose() to return")
            await require_released(case)
