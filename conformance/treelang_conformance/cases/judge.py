"""What every check is given whatever it is about: words for what was expected, and bounds for what is awaited."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from treelang_conformance.leftovers import Leftovers, LeftoversWatch
from treelang_conformance.outcome import type_name
from treelang_conformance.patience import Alarm
from treelang_conformance.provider.server import Provider
from treelang_conformance.registry import Mode
from treelang_conformance.violation import NotApplicable, Violation
from treelang_conformance.waiting import where
from treelang_conformance.wires.base import Wire

T = TypeVar("T")

HANG_SECONDS = 1.4
"""After how long a call counts as hanging."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the runner puts around one check.

    Attributes:
        subject: What is under test.
        wire: The protocol that it speaks; `None` for subjects that speak none.
        provider: The scripted provider: `reply`, `requests`, `connections` and the waits for them.
        mode: How the check makes its calls.
        watch: What is left behind.
        patience: What every bound in time is multiplied by.
        seed: Which examples a property check makes.
    """

    subject: Any
    wire: Wire | None
    provider: Provider
    mode: Mode
    watch: LeftoversWatch
    patience: float
    seed: int


class Judge:
    """The part of a check's surroundings that judges, the same for every kind of subject.

    Attributes:
        provider: The scripted provider: `reply`, `requests`, `connections` and the waits for them.
        patience: What every bound in time is multiplied by.
        seed: Which examples a property check makes.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self.provider = surroundings.provider
        self.patience = surroundings.patience
        self.seed = surroundings.seed
        self._watch = surroundings.watch

    async def leftovers(self) -> Leftovers:
        """What is left behind at this moment: tasks, unhandled failures, warnings, generators nobody closed."""
        return await self._watch.collect()

    def require(self, condition: object, *, expected: str, happened: str, hint: str = "") -> None:
        """Raise `Violation` unless `condition` holds."""
        if not condition:
            raise Violation(expected=expected, happened=happened, hint=hint)

    async def within(self, awaitable: Awaitable[T], what: str, seconds: float = 1.0) -> T:
        """Await something of the provider's (a gate, a request, a release); late is a violation that says `what`."""
        seconds *= self.patience
        with self._interrupted_after(seconds) as late:
            return await awaitable
        assert late, "only being late ends the block without a result"  # noqa: S101  # for the type checker
        raise Violation(expected=f"{what} within {seconds:g} s", happened="it did not happen")

    @contextlib.contextmanager
    def bounded(self, what: str) -> Iterator[None]:
        """Bound a block that awaits the subject: a hang is a violation that says where it stands.

        The block stays in its own task, so that context variables are what the subject's caller sees.
        """
        seconds = HANG_SECONDS * self.patience
        with self._interrupted_after(seconds) as late:
            yield
        if late:
            raise Violation(expected=f"{what} to end within {seconds:g} s", happened=f"it hangs {late[0]}")

    @contextlib.contextmanager
    def succeeding(self, what: str, *, expected: str) -> Iterator[None]:
        """Bound a block of the subject's own set-up: a hang is a violation, and so is whatever it raises."""
        try:
            with self.bounded(what):
                yield
        except Violation:
            raise
        except Exception as error:
            raise Violation(expected=expected, happened=f"it raised {type_name(error)}: {error}") from error

    @contextlib.contextmanager
    def _interrupted_after(self, seconds: float) -> Iterator[list[str]]:
        """Cancel a block that is late, swallow whatever comes of that, and put into the list where it stood."""
        task = asyncio.current_task()
        assert task is not None, "checks run in tasks"  # noqa: S101  # a defect of the kit, not of a subject
        late: list[str] = []

        def interrupt() -> None:
            late.append(where(task))
            task.cancel()

        alarm = Alarm(seconds, interrupt)
        try:
            yield late
        except BaseException:
            if not late:
                raise
        finally:
            alarm.stop()
            if late:
                task.uncancel()

    def not_applicable(self, reason: str) -> NoReturn:
        """End the check as not applicable."""
        raise NotApplicable(reason)

    async def close(self) -> None:
        """Close whatever the check has made; the runner calls it."""
