"""A mutant's trial: the kit's checks are run on it, and what they find is compared with what it declares."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.conformance.mutants.mutation import Mutant
from treelang_conformance.execution import Executor
from treelang_conformance.registry import Check
from treelang_conformance.report import CheckOutcome, CheckResult
from treelang_conformance.wires.discovery import find_wire


@dataclass(frozen=True)
class Trial:
    """What came of a run of checks on a mutant.

    Attributes:
        mutant: Who was tried.
        found: For each clause that failed, the first check that found it.
        judged: The clauses of which at least one check was run to a verdict.
        broken: Checks that came to no verdict, which no subject should be able to bring about.
        seconds: How long it took.
    """

    mutant: Mutant
    found: dict[str, CheckResult]
    judged: frozenset[str]
    broken: tuple[CheckResult, ...]
    seconds: float

    def problems(self) -> Iterator[str]:
        """What is wrong with the mutant or with the kit, one line each."""
        for clause in self.mutant.clauses:
            if clause in self.judged and clause not in self.found:
                yield f"{self.mutant.id} survives: no check of {clause} fails"
        for clause in self.mutant.touches:
            if clause in self.judged and clause not in self.found:
                yield f"{self.mutant.id} declares to touch {clause}, of which no check fails"
        for clause, result in self.found.items():
            if clause not in self.mutant.fails:
                happened = result.failure.happened if result.failure else ""
                yield f"{self.mutant.id} fails {clause}, which it does not declare: {result.id}: {happened}"
        for result in self.broken:
            yield f"{self.mutant.id} brings the kit to {result.outcome}: {result.id}: {result.reason}"


def try_out(mutant: Mutant, checks: Iterable[Check]) -> Trial:
    """Run checks on a mutant; a clause that has failed is found, and no more of its checks are run."""
    begun = time.perf_counter()
    executor = Executor(mutant.subject, find_wire(mutant.wire) if mutant.wire else None)
    found: dict[str, CheckResult] = {}
    judged: set[str] = set()
    broken = []
    for check in checks:
        if check.clause in found:
            continue
        result = executor.run(check)
        match result.outcome:
            case CheckOutcome.FAILED:
                found[check.clause] = result
                judged.add(check.clause)
            case CheckOutcome.PASSED:
                judged.add(check.clause)
            case CheckOutcome.NOT_APPLICABLE:
                pass
            case _:
                broken.append(result)
    return Trial(mutant, found, frozenset(judged), tuple(broken), time.perf_counter() - begun)
