"""The one thread in which all loopback providers live, with its event loop."""

from __future__ import annotations

import asyncio
import atexit
import functools
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class ProviderThread:
    """A daemon thread that runs an event loop until the interpreter exits.

    The providers are not in the event loop of a check, because a transport that blocks its loop must still be
    answered, and seen to block.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="conformance-provider", daemon=True)
        self._thread.start()
        atexit.register(self._shut_down)

    @classmethod
    @functools.cache
    def shared(cls) -> ProviderThread:
        """The thread of this process, started at the first use."""
        return cls()

    @classmethod
    def retire(cls) -> None:
        """End this process's thread, if it has one, so that the process can be forked; the next use starts another."""
        if cls.shared.cache_info().currsize:
            thread = cls.shared()
            cls.shared.cache_clear()
            atexit.unregister(thread._shut_down)
            thread._shut_down()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a short coroutine in the thread and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _shut_down(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
