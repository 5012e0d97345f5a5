"""Checks side by side in several processes: they share nothing, so only the machine's cores limit them.

Processes and not threads, because warnings, finalisers and garbage belong to a whole process: in threads, what one
check leaves behind could be another's.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from queue import SimpleQueue
from typing import TypeAlias

from treelang_conformance.execution import Executor
from treelang_conformance.probe import probe
from treelang_conformance.provider.thread import ProviderThread
from treelang_conformance.registry import Check, SuiteName, all_checks
from treelang_conformance.report import CheckResult
from treelang_conformance.subject import Subject
from treelang_conformance.targets import load_subject
from treelang_conformance.wires.discovery import find_wire

MOST_BY_DEFAULT = 4
WORTH_A_WORKER = 60
"""Checks for which starting one more process pays: it imports the kit and a provider's SDK first."""

Runner: TypeAlias = Callable[[Check], CheckResult]

_executor: Executor
_checks: dict[str, Check]


class WorkerError(Exception):
    """A worker process died; the message says how to find the check that killed it."""


def sensible_jobs(checks: int) -> int:
    """How many processes to use for so many checks on this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # One more than the cores: some checks wait for a timeout of the client's.
    return max(1, min(cores + 1, MOST_BY_DEFAULT, checks // WORTH_A_WORKER))


def run_in_workers(executor: Executor, checks: Sequence[Check], jobs: int) -> Iterator[CheckResult]:
    """Run checks in this process and `jobs - 1` others, and yield each result as it comes, in no particular order.

    The subject's factory must be found by its target, and the wire by its name: functions do not travel.

    Raises:
        WorkerError: A process died.
    """
    subject = executor.subject
    suite = checks[0].suite
    features = subject.features if isinstance(subject, Subject) else None
    wire = executor.wire.name if executor.wire is not None else ""
    begin = (suite, subject.target, features, wire, executor.patience, executor.seed)
    context = multiprocessing.get_context("fork" if _can_fork() else "spawn")
    waiting = deque(checks)
    results: SimpleQueue[CheckResult | Exception | None] = SimpleQueue()
    with ProcessPoolExecutor(jobs - 1, mp_context=context, initializer=_begin, initargs=begin) as pool:
        pool.submit(os.getpid)  # forks all of them at once, before the lanes below are further threads

        def elsewhere(check: Check) -> CheckResult:
            return pool.submit(_run, check.id).result()

        lanes = [executor.run, *[elsewhere] * (jobs - 1)]
        for runner in lanes:
            threading.Thread(target=_drain, args=(runner, waiting, results), daemon=True).start()
        try:
            for _ in lanes:
                while (result := results.get()) is not None:
                    if isinstance(result, Exception):
                        raise result
                    yield result
        except BrokenProcessPool:
            raise WorkerError("a worker process died; find the check that kills it with --jobs 1") from None
        finally:
            waiting.clear()


def _can_fork() -> bool:
    """Whether this process can be copied with all that it has imported; copying one that has threads is not safe."""
    ProviderThread.retire()
    return sys.platform == "linux" and threading.active_count() == 1


def _drain(runner: Runner, waiting: deque[Check], results: SimpleQueue[CheckResult | Exception | None]) -> None:
    """Run one check after another until none waits, and say so with `None`."""
    try:
        while waiting:
            try:
                check = waiting.popleft()
            except IndexError:  # another lane was quicker
                break
            results.put(runner(check))
    except Exception as error:
        results.put(error)
    finally:
        results.put(None)


def _begin(
    suite: SuiteName, target: str, features: frozenset[str] | None, wire: str, patience: float, seed: int
) -> None:
    global _executor, _checks  # the state of a worker process, set once as it begins
    subject = load_subject(suite, target, features)
    _executor = Executor(subject, find_wire(wire) if wire else None, patience, seed)
    probe(subject, _executor.wire)  # imports what the factory needs, which no check's bound allows for
    _checks = {check.id: check for check in all_checks(suite)}


def _run(check_id: str) -> CheckResult:
    return _executor.run(_checks[check_id])
