"""Branches that are evaluated at the same time, and end together.

Like `asyncio.TaskGroup`, with three differences: the first error is raised itself and not in a group, a branch that
cancels itself ends the others too, and tasks belong to workers and not to branches. A worker that has begun a branch
hires the next worker, which gets its turn when the branch waits for something. So as many branches are under way as
wait for something, and ten thousand that never wait are the work of two tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Any, TypeVar

T = TypeVar("T")


class Permits:
    """How many branches of one execution may be under way.

    Whoever has branches evaluated does nothing but wait meanwhile, and lends them its own permit. So nobody ever waits
    for a permit without one at work, and nested branches cannot wait for each other.

    Args:
        count: So many; `None` for any number.
    """

    def __init__(self, count: int | None) -> None:
        self.free = inf if count is None else count - 1  # the execution itself has one
        self.single = count == 1
        """Whether branches can only be evaluated in turn."""
        self.wanted: dict[_Group, None] = {}
        """Who could use another worker, the first to ask first."""

    async def run(self, branches: Sequence[T], begin: Callable[[T], Awaitable[Any]]) -> list[Any]:
        """Evaluate branches, as many at the same time as there are permits, and give their results in order.

        Args:
            branches: What they are.
            begin: How one is evaluated.

        Raises:
            BaseException: The first failure of a branch, or the cancellation of the caller; in either case all
                branches have ended.
        """
        return await _Group(self, branches, begin).results_of_all()

    def give_back(self) -> None:
        """Let somebody else use a permit."""
        self.free += 1
        while self.wanted and self.free >= 1:
            group = next(iter(self.wanted))
            del self.wanted[group]
            group.hire()


class _Group:
    def __init__(self, permits: Permits, branches: Sequence[T], begin: Callable[[T], Awaitable[Any]]) -> None:
        self.permits = permits
        self.count = len(branches)
        self.evaluations = map(begin, branches)
        self.results: list[Any] = [None] * self.count
        self.begun = 0
        self.failure: BaseException | None = None
        self.stopped = False
        self.all_left = asyncio.get_running_loop().create_future()
        self.workers: dict[asyncio.Task[None], None] = {}
        self.newcomer: asyncio.Task[None] | None = None
        """The worker that has not begun yet."""
        permits.free += 1  # the caller's own
        self.hire()

    def hire(self) -> None:
        """Get another worker, if there is work for one, as soon as there is a permit."""
        if self.stopped or self.newcomer is not None or self.begun == self.count:
            return
        if self.permits.free < 1:
            self.permits.wanted[self] = None
            return
        self.permits.free -= 1
        self.newcomer = asyncio.create_task(self.work())
        self.workers[self.newcomer] = None
        self.newcomer.add_done_callback(self.left)

    async def work(self) -> None:
        self.newcomer = None
        try:
            while self.begun < self.count:
                index = self.begun
                self.begun += 1
                self.hire()
                self.results[index] = await next(self.evaluations)
        except BaseException as error:
            self.fail(error)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise  # the event loop is to end at once

    def fail(self, failure: BaseException) -> None:
        if self.failure is None:
            self.failure = failure
        if not self.stopped:
            self.stop()

    def stop(self) -> None:
        """Cancel all workers, so that no branch goes one step further than it must."""
        self.stopped = True
        current = asyncio.current_task()
        for worker in self.workers:
            if worker is not current:
                worker.cancel()

    def left(self, worker: asyncio.Task[None]) -> None:
        self.workers.pop(worker)
        if worker.cancelled():  # before it had begun
            self.fail(asyncio.CancelledError())
        else:
            worker.exception()  # which nobody else asks for
        if self.workers:
            self.permits.give_back()
        elif not self.all_left.done():
            self.all_left.set_result(None)

    async def results_of_all(self) -> list[Any]:
        cancellation: asyncio.CancelledError | None = None
        while self.workers:
            try:
                await asyncio.shield(self.all_left)
            except asyncio.CancelledError as error:
                cancellation = error
                self.stop()
        try:
            if cancellation is not None:
                raise cancellation
            if self.failure is not None:
                raise self.failure
            return self.results
        finally:
            # An error holds the frames it went through, and these would hold the error.
            del cancellation
            self.failure = None
            self.permits.wanted.pop(self, None)
