"""Each check in a thread and an event loop of its own, bounded in time even where the subject blocks the loop.

A thread of its own makes the kit independent of whatever loop runs where it is called (a notebook, an asyncio
plugin of pytest), and lets it go on when a subject never gives control back: the thread is then abandoned.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any

from treelang_conformance.leftovers import LeftoversWatch
from treelang_conformance.patience import TICK_SECONDS, Alarm, Patience
from treelang_conformance.violation import Violation
from treelang_conformance.waiting import describe, where

GRACE_SECONDS = 1.0
"""How long a check that was cancelled for taking too long may take to end."""


def run_isolated(
    main: Callable[[LeftoversWatch], Coroutine[Any, Any, None]], *, seconds: float
) -> BaseException | None:
    """Run `main` in a fresh thread and event loop and return what it raised.

    Args:
        main: The check; it is given the watch for what it leaves behind.
        seconds: How long it may take; beyond that a `Violation` that says where it stands is returned.
    """
    ended = threading.Event()
    result: list[BaseException] = []

    def body() -> None:
        try:
            _run_in_loop(main, seconds)
        except BaseException as error:
            result.append(error)
        finally:
            ended.set()

    context = contextvars.Context()
    thread = threading.Thread(target=context.run, args=(body,), name="treelang-conformance-check", daemon=True)
    thread.start()
    patience = Patience(seconds + 2 * GRACE_SECONDS)
    while not ended.wait(TICK_SECONDS) and not patience.is_over():
        pass
    if not ended.is_set():
        frame = sys._current_frames().get(thread.ident or 0)
        stands = describe(_stack(frame)) if frame is not None else "at no line that can be told"
        return Violation(
            expected="the event loop to get control back",
            happened=f"the check neither ends nor can be cancelled; its thread stands {stands}",
            hint="A call that blocks (time.sleep, a synchronous HTTP client, a busy loop) holds up every other task.",
        )
    thread.join()
    return result[0] if result else None


def _run_in_loop(main: Callable[[LeftoversWatch], Coroutine[Any, Any, None]], seconds: float) -> None:
    watch = LeftoversWatch()
    with watch.around_loop(), asyncio.Runner() as runner:
        runner.run(_bounded(main, watch, seconds))


async def _bounded(
    main: Callable[[LeftoversWatch], Coroutine[Any, Any, None]], watch: LeftoversWatch, seconds: float
) -> None:
    task = asyncio.create_task(main(watch))
    watch.attach()
    late = asyncio.get_running_loop().create_future()
    alarm = Alarm(seconds, lambda: late.set_result(None))
    await asyncio.wait({task, late}, return_when=asyncio.FIRST_COMPLETED)
    alarm.stop()
    if not task.done():
        stands = where(task)
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE_SECONDS)
        if task.done() and not task.cancelled():
            task.exception()  # taken, so that the loop does not report it
        raise Violation(expected=f"the check to end within {seconds:g} s", happened=f"it hangs {stands}")
    task.result()


def _stack(frame: FrameType | None) -> list[FrameType]:
    frames: list[FrameType] = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]
