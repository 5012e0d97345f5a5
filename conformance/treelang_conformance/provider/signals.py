"""Waiting across threads: a coroutine of any event loop waits for something that another thread brings about."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future


class Changes:
    """A condition variable whose waiters may live in different event loops.

    Whoever changes the watched state calls `notify` afterwards, from any thread; whoever waits gives a predicate
    on that state. There is no polling, and a change between looking and waiting is not missed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: list[Future[None]] = []

    def notify(self) -> None:
        """Let every waiter look again."""
        with self._lock:
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            # False for a waiter that was cancelled meanwhile; afterwards it can no longer be cancelled.
            if waiter.set_running_or_notify_cancel():
                waiter.set_result(None)

    async def until(self, predicate: Callable[[], object]) -> None:
        """Return once `predicate` holds. The caller bounds the wait."""
        while True:
            waiter: Future[None] = Future()
            with self._lock:
                self._waiters.append(waiter)
            # Looked at after enlisting, so that a change in between wakes this waiter.
            if predicate():
                self._forget(waiter)
                return
            try:
                await asyncio.wrap_future(waiter)
            finally:
                self._forget(waiter)

    def _forget(self, waiter: Future[None]) -> None:
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
