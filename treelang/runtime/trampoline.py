"""Coroutines that call each other to any depth without Python's stack.

A coroutine that awaits another one normally stands on top of it on Python's stack, and a thousand of them are too many.
Here the inner coroutine is handed to a driver instead, which keeps the waiting ones in a list:

    async def outer():
        value = await descend(inner())

    await driven(outer())

To the event loop the driver is an ordinary awaitable of the current task: what the innermost coroutine awaits passes
through it, and so do results and cancellation.

An error ends all waiting coroutines at once. They are closed, the innermost first, and never see it, so they must not
try to handle it; a traceback then holds the innermost frames and not a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import CoroutineType, coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def descend(inner: Coroutine[Any, Any, T]) -> Generator[Any, T, T]:
    """Let the driver run a coroutine, and give its result."""
    return (yield inner)


@coroutine
def driven(
    outermost: Coroutine[Any, Any, T], notice: Callable[[BaseException], object] = lambda _: None
) -> Generator[Any, Any, T]:
    """Run a coroutine and those that it descends to.

    Args:
        outermost: The coroutine.
        notice: Is told what the event loop raises where somebody waits, such as a cancellation, before they see it.
    """
    waiting: list[Coroutine[Any, Any, Any]] = [outermost]
    resume: Any = outermost.send
    value: Any = None
    try:
        while True:
            try:
                request = resume(value)
            except StopIteration as stop:
                del waiting[-1]
                value = stop.value
                if not waiting:
                    return value  # type: ignore[no-any-return]  # the result of the outermost
                resume = waiting[-1].send
                continue
            if type(request) is CoroutineType:
                waiting.append(request)
                resume, value = request.send, None
                continue
            try:
                value = yield request
                resume = waiting[-1].send
            except BaseException as error:
                notice(error)
                resume, value = waiting[-1].throw, error
    finally:
        while waiting:
            waiting.pop().close()
