"""A whole run: the wiring check, then every selected check, then the report. Knows nothing of pytest."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from treelang_conformance.clauses import clauses, contract_digest, unknown
from treelang_conformance.coverage import REASONS_FOR_NO_CHECK
from treelang_conformance.environment import environment, kit_version
from treelang_conformance.execution import Executor
from treelang_conformance.expectations import (
    ExpectedFailures,
    covers,
    defects,
    expect,
    find_expectation,
    is_unexpected_pass,
    unexpected_pass,
)
from treelang_conformance.probe import probe
from treelang_conformance.registry import Check, SuiteName, all_checks
from treelang_conformance.report import (
    CheckOutcome,
    CheckResult,
    ClauseOutcome,
    ClauseResult,
    Report,
    SubjectDetails,
    clause_outcome,
)
from treelang_conformance.selection import select_checks
from treelang_conformance.subject import AnySubject, subject_type
from treelang_conformance.wires.base import Wire
from treelang_conformance.wires.discovery import find_wire
from treelang_conformance.workers import run_in_workers

ProgressCallback: TypeAlias = Callable[[CheckResult, int, int], None]
"""Called after every check with its result, its number from 1, and how many there are."""


class SuiteError(Exception):
    """The suite, the subject and the wire do not go together; the message says what to mend."""


MISWIRED = "the wiring check failed, so nothing else could be judged"


def run(
    subject: AnySubject,
    *,
    wire: Wire | str | None = None,
    suite: SuiteName | str | None = None,
    select: Sequence[str] | None = None,
    expected_failures: ExpectedFailures | None = None,
    patience: float = 1.0,
    seed: int = 0,
    jobs: int = 1,
    checks: Sequence[Check] | None = None,
    progress: ProgressCallback | None = None,
) -> Report:
    """Run the kit against a subject.

    Args:
        subject: What is under test.
        wire: The protocol that a transport speaks, or its name; for other subjects nothing.
        suite: Which checks to run: `transport` or `fallback` for a transport, `negotiator` or `tools` for subjects of
            those kinds; by default the first that fits the subject.
        select: Families, clauses or checks to run; everything for `None`. The wiring check runs always.
        expected_failures: Failures to tolerate, by clause or check id.
        patience: What the kit's bounds in time are multiplied by, for slow or busy machines.
        seed: Which examples the property checks make.
        jobs: In how many processes to run the checks; more than one needs a subject with a target.
        checks: What to run instead of the kit's own checks, the wiring check first; in one process only.
        progress: Told of every finished check.

    Raises:
        SuiteError: The suite is not for such a subject, or the wire is missing or one too many.
        UnknownWireError: No wire of that name is installed.
        UnknownClauseError: The selection names something that does not exist.
        SubjectError: The factory makes no transport.
        WorkerError: A worker process died.
    """
    started, begun = datetime.now(UTC), time.perf_counter()
    which = suite_for(subject, suite, wire)
    executor = Executor(subject, find_wire(wire) if isinstance(wire, str) else wire, patience, seed)
    expected = expected_failures or {}
    wiring, *judged = all_checks(which) if checks is None else checks
    selected = select_checks(judged, select)
    tell = progress or (lambda *_: None)
    kind = probe(subject, executor.wire)

    total = 1 + len(selected)
    wired = executor.run(wiring)
    tell(wired, 1, total)
    if wired.outcome is not CheckOutcome.PASSED:
        ran: Iterable[CheckResult] = (could_not_run(check) for check in selected)
    elif jobs > 1:
        ran = run_in_workers(executor, selected, jobs)
    else:
        ran = (executor.run(check) for check in selected)
    by_id = {check.id: check for check in selected}
    results: dict[str, CheckResult] = {}
    for number, result in enumerate(ran, 2):
        results[result.id] = expect(result, find_expectation(by_id[result.id], expected))
        tell(results[result.id], number, total)

    return Report(
        kit_version=kit_version(),
        contract_digest=contract_digest(),
        suite=which,
        subject=SubjectDetails(name=subject.name or kind, target=subject.target),
        wire=executor.wire.name if executor.wire is not None else "",
        environment=environment(),
        started=started,
        seconds=round(max(0.0, time.perf_counter() - begun), 4),
        selection=None if select is None else tuple(select),
        wiring=wired,
        clauses=tuple(_clause_results(judged, results)),
        problems=tuple(_problems(judged, results, expected)),
    )


def suite_for(subject: AnySubject, suite: SuiteName | str | None, wire: Wire | str | None) -> SuiteName:
    """The suite to run against a subject.

    Raises:
        SuiteError: There is no such suite, it is not for such a subject, or the wire is missing or one too many.
    """
    try:
        which = SuiteName(suite or subject.suite)
    except ValueError:
        raise SuiteError(unknown("suite", str(suite), list(SuiteName))) from None
    fitting = subject_type(which)
    if not isinstance(subject, fitting):
        raise SuiteError(f"the suite {which} is for a {fitting.__name__}, and this is a {type(subject).__name__}")
    if which.has_wire and not wire:
        raise SuiteError(f"the suite {which} needs the protocol that the transport speaks, its wire")
    if wire and not which.has_wire:
        raise SuiteError(f"the suite {which} is for subjects that speak no protocol: leave the wire out")
    return which


def could_not_run(check: Check, reason: str = MISWIRED) -> CheckResult:
    """The result of a check that was not even begun."""
    return CheckResult(
        id=check.id, description=check.description, outcome=CheckOutcome.COULD_NOT_RUN, seconds=0, reason=reason
    )


def _clause_results(judged: Iterable[Check], results: Mapping[str, CheckResult]) -> Iterator[ClauseResult]:
    by_clause: dict[str, list[Check]] = defaultdict(list)
    for check in judged:
        by_clause[check.clause].append(check)
    for clause in clauses():
        checks = by_clause[clause.id]
        ran = tuple(results[check.id] for check in checks if check.id in results)
        uncheckable = not checks and clause.id in REASONS_FOR_NO_CHECK
        outcome = clause_outcome(ran) if ran or uncheckable else ClauseOutcome.NOT_SELECTED
        yield ClauseResult(id=clause.id, family=clause.family, level=clause.level, outcome=outcome, checks=ran)


def _problems(judged: Sequence[Check], results: Mapping[str, CheckResult], expected: ExpectedFailures) -> Iterator[str]:
    outcomes = {result.outcome for result in results.values()}
    if not outcomes - {CheckOutcome.NOT_APPLICABLE}:
        yield "nothing ran: no selected check applies to this subject"
    yield from defects(expected, judged)
    for identifier, entry in expected.items():
        covered = [results[check.id] for check in judged if check.id in results and covers(identifier, check)]
        if is_unexpected_pass(covered):
            yield unexpected_pass(identifier, entry)
