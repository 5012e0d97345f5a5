"""CAN-1 to CAN-3, CAN-5: a call that is cancelled, seen from its caller and, separately, from the provider."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._addresses import SilentListener
from treelang_conformance.checks.transport._faults import ANSWER, Place, answered_until
from treelang_conformance.checks.transport._interrupted import (
    STAGES,
    STREAM_STAGES,
    Stage,
    brought_to,
    connecting_to,
    ended,
    let_time_pass,
)
from treelang_conformance.outcome import type_name
from treelang_conformance.provider.script import Stall
from treelang_conformance.provider.unreachable import CannotFillBacklog, unaccepting_url
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import CouldNotRun, about
from treelang_conformance.waiting import settle

_MESSAGE = "the caller has gone"

_UNCHANGED = (
    "CancelledError is a BaseException: `except Exception` lets it pass, while `except BaseException`, a bare `except` "
    "and an `except asyncio.CancelledError` without a bare `raise` do not."
)

_SEND_NO_MORE = (
    "Neither a retry nor a fallback may follow a cancellation, at once or later: catch no BaseException around what is "
    "sent, and leave no timer or task behind that sends."
)

_NOT_YOURS = (
    "The caller's deadline arrives as a CancelledError, which becomes TimeoutError in the caller's own block; an "
    "adapter that catches it and raises anything else takes the deadline away."
)


@check("CAN-1", modes=BOTH, over=STAGES, hint=_UNCHANGED)
@check("CAN-1", modes=(Mode.STREAM,), over=STREAM_STAGES, hint=_UNCHANGED)
async def a_cancelled_call_ends_in_cancelled_error(case: Case, stage: Stage) -> None:
    """Cancelled while it waits at this stage, the call ends in `CancelledError` with the canceller's own message."""
    task = await brought_to(case, stage)
    task.cancel(_MESSAGE)
    await _require_passed_on(case, task)


@check("CAN-1", modes=BOTH, hint=_UNCHANGED)
async def a_call_cancelled_in_its_handshake_ends_in_cancelled_error(case: Case) -> None:
    """Cancelled while connecting, in a TLS handshake that gets no answer, the call ends in `CancelledError`."""
    async with SilentListener() as listener:
        task = await connecting_to(case, listener)
        task.cancel(_MESSAGE)
        await _require_passed_on(case, task)


@check("CAN-1", modes=BOTH, hint=_UNCHANGED)
async def a_call_cancelled_in_connecting_ends_in_cancelled_error(case: Case) -> None:
    """Cancelled while its connection attempt waits in a full backlog, the call ends in `CancelledError`."""
    try:
        with unaccepting_url() as url:
            transport = await case.transport(url=url + case.wire.base_path)
            task = asyncio.create_task(case.invoke(transport=transport))
            await settle()
            task.cancel(_MESSAGE)
            await _require_passed_on(case, task)
    except CannotFillBacklog as error:
        raise CouldNotRun(str(error)) from error


class _SiblingFailedError(Exception):
    """What another task of the group fails with."""


@check("CAN-1", modes=BOTH, hint=_UNCHANGED)
async def a_call_cancelled_by_its_task_group_adds_no_error_of_its_own(case: Case) -> None:
    """In a task group whose other task fails, the call is cancelled, and the group raises the failure alone."""
    transport = await case.transport()
    fail, calls = asyncio.Event(), list[asyncio.Task[Any]]()

    async def group() -> None:
        async with asyncio.TaskGroup() as tasks:
            calls.append(tasks.create_task(case.invoke(transport=transport)))
            await fail.wait()
            raise _SiblingFailedError

    task = await brought_to(case, STAGES[Place.INSIDE_BODY], group)
    fail.set()
    error = await ended(case, task)
    case.require(
        calls[0].cancelled(),
        expected="the call's task to count as cancelled",
        happened="it ended in another way",
    )
    raised = error.exceptions if isinstance(error, BaseExceptionGroup) else (error,)
    case.require(
        len(raised) == 1 and isinstance(raised[0], _SiblingFailedError),
        expected="the failure of the other task and nothing else",
        happened=f"the group raised {', '.join(type_name(one) for one in raised if one is not None)}",
    )


_TURNS = 30
"""More turns of the event loop than a call takes from its beginning to its wait for the rest of an answer."""


@check("CAN-1", modes=BOTH, hint=_UNCHANGED)
async def a_call_can_be_cancelled_at_any_turn(case: Case) -> None:
    """Cancelled at any turn of the event loop on its way to an answer that stalls, the call ends in `CancelledError`.

    Where the call stands at each turn is not known, and need not be: no turn may make another end. The message is
    not judged here, because an HTTP library that happens to leave a cancel scope of its own puts in another.
    """
    transport = await case.transport()
    stalled = answered_until(case, Place.INSIDE_BODY, Stall())
    case.provider.answer_by(lambda _request: stalled)
    for turns in range(_TURNS):
        task = asyncio.create_task(case.invoke(transport=transport))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel(_MESSAGE)
        with about(f"a cancellation after {turns} turns"):
            _require_cancelled(case, task, await ended(case, task))


async def _require_passed_on(case: Case, task: asyncio.Task[Any]) -> None:
    error = await ended(case, task)
    _require_cancelled(case, task, error)
    case.require(
        error is not None and error.args == (_MESSAGE,),
        expected="the CancelledError to be passed on as it is",
        happened="the message given to Task.cancel() is lost: another one was raised in its place",
    )


def _require_cancelled(case: Case, task: asyncio.Task[Any], error: BaseException | None) -> None:
    case.require(
        type(error) is asyncio.CancelledError and task.cancelled(),
        expected="the call to end in asyncio.CancelledError, and its task to count as cancelled",
        happened="it ended normally" if error is None else f"it raised {type_name(error)}",
    )


@check("CAN-2", modes=BOTH, over=STAGES, hint=_SEND_NO_MORE)
@check("CAN-2", modes=(Mode.STREAM,), over=STREAM_STAGES, hint=_SEND_NO_MORE)
async def nothing_is_sent_after_a_cancellation(case: Case, stage: Stage) -> None:
    """After a strict call was cancelled, the provider receives the next call's request and no other.

    Nor does it a while later, for which nobody waits: every timer that the call has left behind is due at once.
    """
    transport = await case.transport()
    task = await brought_to(case, stage, functools.partial(case.invoke, case.strict_request(), transport=transport))
    task.cancel()
    await ended(case, task)
    let_time_pass()
    await settle()
    case.answers(ANSWER)
    outcome = await case.call()
    sent = len(case.provider.requests)
    case.require(
        sent == 2,
        expected="the request of the cancelled call and the one of the call after it",
        happened=f"the provider received {sent} requests",
    )
    case.require_text(outcome, ANSWER.text)


@check("CAN-5", modes=BOTH, over=STAGES, hint=_NOT_YOURS)
@check("CAN-5", modes=(Mode.STREAM,), over=STREAM_STAGES, hint=_NOT_YOURS)
async def the_caller_sees_its_own_deadline(case: Case, stage: Stage) -> None:
    """When `asyncio.timeout` expires while the call waits at this stage, the caller sees the plain `TimeoutError`."""
    transport = await case.transport()
    deadlines: list[asyncio.Timeout] = []

    async def under_deadline() -> None:
        async with asyncio.timeout(None) as deadline:
            deadlines.append(deadline)
            await case.invoke(transport=transport)

    task = await brought_to(case, stage, under_deadline)
    deadlines[0].reschedule(asyncio.get_running_loop().time())
    error = await ended(case, task)
    case.require(
        type(error) is TimeoutError,
        expected="the plain TimeoutError",
        happened="the call ended normally" if error is None else f"the caller sees {type_name(error)}",
    )
