"""What a call leaves behind: tasks, failures nobody took, warnings, generators nobody closed (CAN-7, STR-12).

The watch is exact only because garbage of earlier checks cannot speak up in a later one: objects that exist when
it begins are taken out of the collector's sight (`gc.freeze`), which also makes each collection cheap.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import warnings
import weakref
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import AsyncGeneratorType
from typing import Any

from treelang_conformance.outcome import type_name
from treelang_conformance.patience import TICK_SECONDS, Patience
from treelang_conformance.waiting import is_kit, is_standard, where

HTTP_STACK = frozenset(
    {"aiohttp", "anthropic", "anyio", "h11", "h2", "httpcore", "httpcore2", "httpx", "httpx2", "openai"}
)
"""Packages that leave inner generators to the garbage collector by habit, which no adapter can help."""

SETTLING_SECONDS = 0.2
"""How long tasks that are already on their way to an end may be idle."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What is left behind, each entry told in words; all empty where everything was tidied up.

    Attributes:
        tasks: Tasks that still run, and where they stand.
        failures: Exceptions that reached the event loop or a finaliser because nobody took them.
        warnings: Unclosed resources and coroutines that were never awaited.
        generators: Asynchronous generators that were begun and neither finished nor closed.
    """

    tasks: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tasks or self.failures or self.warnings or self.generators)

    def __str__(self) -> str:
        return "; ".join((*self.tasks, *self.failures, *self.warnings, *self.generators)) or "nothing"


class LeftoversWatch:
    """Watches one check from before its event loop exists until after it is closed."""

    def __init__(self) -> None:
        self._failures: list[str] = []
        self._dropped: list[str] = []
        self._warned: list[warnings.WarningMessage] = []
        self._generators: weakref.WeakSet[AsyncGeneratorType[Any, Any]] = weakref.WeakSet()
        self._own_tasks: set[asyncio.Task[Any]] = set()

    @contextlib.contextmanager
    def around_loop(self) -> Iterator[None]:
        """Catch what the interpreter says; entered in the thread of the check, outside its loop."""
        heard = sys.unraisablehook
        sys.unraisablehook = self._on_unraisable
        gc.freeze()
        try:
            with warnings.catch_warnings(record=True) as self._warned:
                warnings.filterwarnings("always", category=ResourceWarning)
                warnings.filterwarnings("always", message=".*was never awaited", category=RuntimeWarning)
                yield
                gc.collect()
        finally:
            self._own_tasks.clear()  # they know the loop, which knows this watch: a cycle a check would pile up
            gc.unfreeze()
            sys.unraisablehook = heard
        for other in self._warned:
            if not _is_leftover(other):
                warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)

    def attach(self) -> None:
        """Catch what the running loop says; called in the loop, before the check begins."""
        self._own_tasks = set(asyncio.all_tasks())
        asyncio.get_running_loop().set_exception_handler(self._on_loop_failure)
        begun, finalized = sys.get_asyncgen_hooks()

        def on_begin(generator: AsyncGenerator[Any, Any]) -> None:
            if isinstance(generator, AsyncGeneratorType):
                self._generators.add(generator)
            if begun is not None:
                begun(generator)

        def on_drop(generator: AsyncGenerator[Any, Any]) -> None:
            if isinstance(generator, AsyncGeneratorType) and _is_subjects(generator):
                self._dropped.append(f"{_generator_name(generator)} was left to the garbage collector")
            if finalized is not None:
                finalized(generator)

        sys.set_asyncgen_hooks(on_begin, on_drop)

    async def collect(self) -> Leftovers:
        """Let what is ending end, drop what nobody holds, and tell the rest."""
        await self._settle()
        gc.collect()
        await asyncio.sleep(0)  # the loop closes generators that were dropped in tasks of its own
        await self._settle()
        open_ones = [
            f"{_generator_name(generator)} was begun and never closed"
            for generator in list(self._generators)
            if generator.ag_frame is not None and not generator.ag_running and _is_subjects(generator)
        ]
        return Leftovers(
            tasks=tuple(f"a task still runs {where(task)}" for task in self._running()),
            failures=tuple(self._failures),
            warnings=tuple(f"{one.category.__name__}: {one.message}" for one in self._warned if _is_leftover(one)),
            generators=(*self._dropped, *open_ones),
        )

    async def _settle(self) -> None:
        """Wait for the tasks that run, and for those that they leave behind: a generator's end may drop another."""
        patience = Patience(SETTLING_SECONDS)
        while (running := self._running()) and not patience.is_over():
            await asyncio.wait(running, timeout=TICK_SECONDS)
            await asyncio.sleep(0)  # what they have dropped becomes a task in this turn

    def _running(self) -> set[asyncio.Task[Any]]:
        current = asyncio.current_task()
        return {task for task in asyncio.all_tasks() if task is not current and task not in self._own_tasks}

    def _on_loop_failure(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        reason = f": {type_name(error)}" if isinstance(error, BaseException) else ""
        self._failures.append(f"the event loop was told: {context.get('message', 'a failure')}{reason}")

    def _on_unraisable(self, unraisable: Any) -> None:
        kind = unraisable.exc_type.__name__
        self._failures.append(f"{unraisable.err_msg or 'an exception was ignored in a finaliser'}: {kind}")


def _is_leftover(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, ResourceWarning) or "was never awaited" in str(warning.message)


def _generator_name(generator: AsyncGeneratorType[Any, Any]) -> str:
    code = generator.ag_code
    return f"the generator {code.co_name} ({Path(code.co_filename).name}:{code.co_firstlineno})"


def _is_subjects(generator: AsyncGeneratorType[Any, Any]) -> bool:
    code = generator.ag_code
    if is_kit(code) or is_standard(code):
        return False
    frame = generator.ag_frame
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0] if frame is not None else ""
    return package not in HTTP_STACK
