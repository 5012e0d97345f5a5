"""Reports made by hand, so that tests of what becomes of a report need no run."""

from __future__ import annotations

from datetime import UTC, datetime

from treelang_conformance.clauses import clauses
from treelang_conformance.report import (
    CheckOutcome,
    CheckResult,
    ClauseResult,
    Environment,
    FailureDetails,
    Report,
    SubjectDetails,
    clause_outcome,
)

FAILURE = FailureDetails(
    expected="the text 'a birch'",
    happened="the call ended normally with the text '<an oak>'",
    exchange="> POST /v1/chat/completions\n> authorization: ***\n< HTTP/1.1 200 OK\n< \x00 an oak",
    hint="Ask for a birch.",
)


def result(identifier: str, outcome: CheckOutcome = CheckOutcome.PASSED) -> CheckResult:
    """The result of a check with this id; failures have details, others that need one a reason."""
    failed = outcome in {CheckOutcome.FAILED, CheckOutcome.EXPECTED_FAILURE}
    plain = outcome in {CheckOutcome.PASSED, CheckOutcome.FAILED}
    return CheckResult(
        id=identifier,
        description="The tree is the one that was asked for.",
        outcome=outcome,
        seconds=0.25,
        reason="" if plain else "for a reason",
        issue="https://example.test/issues/1" if outcome is CheckOutcome.EXPECTED_FAILURE else "",
        failure=FAILURE if failed else None,
    )


def report(
    *results: CheckResult,
    wiring: CheckOutcome = CheckOutcome.PASSED,
    problems: tuple[str, ...] = (),
    selection: tuple[str, ...] | None = None,
) -> Report:
    """A report of these results; every other clause is unchecked."""
    return Report(
        kit_version="0.1.0",
        contract_digest="0" * 64,
        subject=SubjectDetails(name="Oak", target="acme.testing:make"),
        wire="openai-chat",
        environment=Environment(python="3.11.7", packages={"openai": "3.57.0"}),
        started=datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
        seconds=1.5,
        selection=selection,
        wiring=result("WIRING/it-is-wired", wiring),
        clauses=tuple(
            ClauseResult(
                id=clause.id, family=clause.family, level=clause.level, outcome=clause_outcome(own), checks=own
            )
            for clause in clauses()
            for own in [tuple(one for one in results if one.id.partition("/")[0] == clause.id)]
        ),
        problems=problems,
    )


EVERY_OUTCOME = report(
    *(result(f"CMP-{number}/shows-the-outcome", outcome) for number, outcome in enumerate(CheckOutcome, 1)),
    result("CMP-11/shows-a-should", CheckOutcome.FAILED),
    problems=("expected failure CMP-9: it passes now",),
)
"""A report in which every outcome occurs."""
