"""Checks side by side in several processes: they share nothing, so only the machine's cores limit them.

Processes and not threads, because warnings, finalisers and garbage belong to a whole process: in threads, what one
check leaves behind could be another's.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from treelang_conformance.execution import Executor
from treelang_conformance.probe import probe
from treelang_conformance.registry import Check, all_checks
from treelang_conformance.report import CheckResult
from treelang_conformance.subject import Subject
from treelang_conformance.targets import load_factory
from treelang_conformance.wires.discovery import find_wire

MOST_BY_DEFAULT = 4
WORTH_A_WORKER = 60
"""Checks for which starting one more process pays: it imports the kit and a provider's SDK first."""

_executor: Executor
_checks: dict[str, Check]


class WorkerError(Exception):
    """A worker process died; the message says how to find the check that killed it."""


def sensible_jobs(checks: int) -> int:
    """How many processes to use for so many checks on this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST_BY_DEFAULT, checks // WORTH_A_WORKER))


def run_in_workers(executor: Executor, checks: Sequence[Check], jobs: int) -> Iterator[CheckResult]:
    """Run checks in `jobs` processes and yield each result as it comes, in no particular order.

    The subject's factory must be found by its target, and the wire by its name: functions do not travel.

    Raises:
        WorkerError: A process died.
    """
    subject = executor.subject
    begin = (subject.target, subject.features, executor.wire.name, executor.patience)
    context = multiprocessing.get_context("spawn")  # forking a process that has threads is not safe
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=begin) as pool:
        running = [pool.submit(_run, check.id) for check in checks]
        try:
            for future in as_completed(running):
                yield future.result()
        except BrokenProcessPool:
            raise WorkerError("a worker process died; find the check that kills it with --jobs 1") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(target: str, features: frozenset[str] | None, wire: str, patience: float) -> None:
    global _executor, _checks  # the state of a worker process, set once as it begins
    subject = Subject(load_factory(target), target=target, features=features)
    _executor = Executor(subject, find_wire(wire), patience)
    probe(subject, _executor.wire)  # imports what the factory needs, which no check's bound allows for
    _checks = {check.id: check for check in all_checks()}


def _run(check_id: str) -> CheckResult:
    return _executor.run(_checks[check_id])
