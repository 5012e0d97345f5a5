"""Bounds in time that tell a subject that hangs from a machine that is busy.

Something that hangs leaves the process idle: subject and provider both wait. On a starved machine the process
works, only slowly, or waits for a core, and then even its look at the clocks comes late. So a bound counts the time in
which the process did next to nothing and could look at the clocks in time, and lets working time pass, up to a limit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

TICK_SECONDS = 0.05
"""How often a bound looks at the clocks."""

_COUNTED_SECONDS = 2 * TICK_SECONDS
"""How much of the time between two looks counts: what is beyond it, the process waited for a core."""

_IDLE_SHARE = 0.1  # of one core; a process that hangs uses about a hundredth of that
_STRETCH = 4  # how many times the bound a process may work on before it is over all the same


class Patience:
    """A bound of some seconds in which the process is idle."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._idle = self._counted = 0.0
        self._looked = time.monotonic()
        self._used: float | None = None  # a slow question, not asked before most blocks have ended

    def is_over(self) -> bool:
        """Look at the clocks, and say whether the bound is reached."""
        now, used = time.monotonic(), time.process_time()
        passed = now - self._looked
        counted = min(passed, _COUNTED_SECONDS)
        self._counted += counted
        if self._used is None or used - self._used < _IDLE_SHARE * passed:
            self._idle += counted
        self._looked, self._used = now, used
        return self._idle >= self._seconds or self._counted >= _STRETCH * self._seconds


class Alarm:
    """Calls a function in the running loop when its patience is over, unless it is stopped before."""

    def __init__(self, seconds: float, ring: Callable[[], object]) -> None:
        self._patience = Patience(seconds)
        self._tick = min(TICK_SECONDS, seconds)
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(self._tick, self._look)

    def stop(self) -> None:
        """Never ring."""
        self._handle.cancel()

    def _look(self) -> None:
        if self._patience.is_over():
            self._ring()
        else:
            self._handle = self._loop.call_later(self._tick, self._look)
