"""A run as a whole: what ran, how each outcome counts, and what makes a run worthless."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta

import pytest

from tests.conformance.support import checks, plain
from treelang import ModelTransport
from treelang_conformance.clauses import UnknownClauseError, clauses
from treelang_conformance.coverage import REASONS_FOR_NO_CHECK
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.expectations import ExpectedFailure
from treelang_conformance.probe import SubjectError
from treelang_conformance.registry import Check, CheckFunction
from treelang_conformance.report import CheckOutcome, CheckResult, ClauseOutcome, Report
from treelang_conformance.runner import run
from treelang_conformance.subject import Subject
from treelang_conformance.wires.discovery import UnknownWireError

PASSES = checks.as_check(checks.brings_the_text_back)
FAILS = checks.as_check(checks.finds_a_violation, "CMP-2", hint="Ask for a birch.")
FAILS_A_SHOULD = checks.as_check(checks.finds_a_violation, "CMP-11")
KNOWN = ExpectedFailure("the oak is older", "https://example.test/issues/1")


def judged(*own: Check, subject: Subject | None = None, **options: object) -> Report:
    """A run of these checks alone, after a wiring check that passes."""
    return run(
        subject or Subject(plain.make),
        wire="openai-chat",
        checks=(checks.WIRED, *own),
        **options,  # type: ignore[arg-type]  # each test passes what run() takes
    )


def clause_outcomes(report: Report) -> dict[str, ClauseOutcome]:
    return {clause.id: clause.outcome for clause in report.clauses if clause.checks}


def test_a_subject_that_keeps_what_is_checked_is_conformant() -> None:
    report = judged(PASSES)
    assert (report.conformant, report.exit_code, report.problems) == (True, 0, ())
    assert clause_outcomes(report) == {"CMP-1": ClauseOutcome.PASSED}


def test_the_report_lists_every_clause_and_says_which_are_unchecked() -> None:
    report = judged(PASSES)
    assert [clause.id for clause in report.clauses] == [clause.id for clause in clauses()]
    outcomes = {clause.id: clause.outcome for clause in report.clauses if not clause.checks}
    assert {identifier for identifier, outcome in outcomes.items() if outcome is ClauseOutcome.UNCHECKED} == {
        *REASONS_FOR_NO_CHECK
    }
    assert set(outcomes.values()) == {ClauseOutcome.UNCHECKED, ClauseOutcome.NOT_SELECTED}


def test_a_violated_must_makes_the_run_fail() -> None:
    report = judged(PASSES, FAILS)
    assert report.exit_code == 1
    assert clause_outcomes(report) == {"CMP-1": ClauseOutcome.PASSED, "CMP-2": ClauseOutcome.FAILED}


def test_a_should_that_is_not_kept_is_reported_and_tolerated() -> None:
    report = judged(PASSES, FAILS_A_SHOULD)
    assert report.exit_code == 0
    assert clause_outcomes(report)["CMP-11"] is ClauseOutcome.FAILED


@pytest.mark.parametrize("function", [checks.lacks_something, checks.is_itself_broken])
def test_what_could_not_run_is_never_a_pass(function: CheckFunction) -> None:
    assert judged(PASSES, checks.as_check(function, "CMP-2")).exit_code == 1


def test_a_run_of_nothing_fails() -> None:
    report = judged(checks.as_check(checks.does_not_apply))
    assert report.exit_code == 1
    assert report.problems == ("nothing ran: no selected check applies to this subject",)


def test_a_miswired_subject_gets_one_failure_and_nothing_else_runs() -> None:
    miswired = checks.as_check(checks.finds_a_violation, "WIRING")
    report = run(Subject(plain.make), wire="openai-chat", checks=(miswired, PASSES, FAILS))
    assert report.wiring is not None
    assert report.wiring.outcome is CheckOutcome.FAILED
    assert {check.outcome for check in report.checks()} == {CheckOutcome.COULD_NOT_RUN}
    assert report.exit_code == 1


def test_a_selection_leaves_the_rest_out_and_says_so() -> None:
    report = judged(PASSES, FAILS, select=["CMP-1"])
    outcomes = {clause.id: clause.outcome for clause in report.clauses}
    assert (outcomes["CMP-1"], outcomes["CMP-2"]) == (ClauseOutcome.PASSED, ClauseOutcome.NOT_SELECTED)
    assert report.selection == ("CMP-1",)


def test_an_unknown_selection_names_the_nearest_clause() -> None:
    with pytest.raises(UnknownClauseError, match="did you mean ERR-8"):
        judged(PASSES, select=["ERR8"])


def test_an_unknown_wire_names_the_nearest_and_lists_all() -> None:
    with pytest.raises(UnknownWireError, match=r"did you mean openai-chat\? \(installed: .*anthropic-messages"):
        run(Subject(plain.make), wire="openai-chats")


def test_a_factory_that_raises_makes_the_run_impossible() -> None:
    def make(_endpoint: Endpoint) -> ModelTransport:
        raise ValueError("no such deployment")

    with pytest.raises(SubjectError, match="the factory raised ValueError: no such deployment"):
        judged(PASSES, subject=Subject(make))


def test_something_that_is_no_transport_makes_the_run_impossible() -> None:
    with pytest.raises(SubjectError, match="the factory made a list, which has no complete"):
        judged(PASSES, subject=Subject(lambda _endpoint: []))  # type: ignore[arg-type, return-value]  # the mistake


def test_an_expected_failure_is_tolerated_with_its_reason() -> None:
    report = judged(PASSES, FAILS, expected_failures={"CMP-2": KNOWN})
    assert report.exit_code == 0
    (failure,) = [check for check in report.checks() if check.outcome is CheckOutcome.EXPECTED_FAILURE]
    assert (failure.reason, failure.issue) == (KNOWN.reason, KNOWN.issue)
    assert failure.failure is not None


@pytest.mark.parametrize("identifier", ["CMP-1", "CMP-1/brings-the-text-back"])
def test_an_expected_failure_that_passes_fails_the_run(identifier: str) -> None:
    report = judged(PASSES, expected_failures={identifier: KNOWN})
    assert report.problems == (f"expected failure {identifier}: it passes now; remove the entry ({KNOWN.issue})",)
    assert report.exit_code == 1


def test_an_expected_clause_needs_only_one_failing_check() -> None:
    also_of_the_clause = checks.as_check(checks.brings_the_text_back, "CMP-2")
    report = judged(FAILS, also_of_the_clause, expected_failures={"CMP-2": KNOWN})
    assert (report.problems, report.exit_code) == ((), 0)


def test_an_expected_failure_of_something_unknown_fails_the_run() -> None:
    report = judged(PASSES, expected_failures={"CMP-1/brings-a-text-back": KNOWN})
    assert report.problems == (
        (
            "expected failure CMP-1/brings-a-text-back: unknown check 'CMP-1/brings-a-text-back';"
            " did you mean CMP-1/brings-the-text-back?"
        ),
    )
    assert report.exit_code == 1


def test_an_expired_failure_counts_again() -> None:
    yesterday = date.today() - timedelta(days=1)
    expired = ExpectedFailure(KNOWN.reason, KNOWN.issue, yesterday)
    report = judged(PASSES, FAILS, expected_failures={"CMP-2": expired})
    assert clause_outcomes(report)["CMP-2"] is ClauseOutcome.FAILED
    assert report.problems == (f"expected failure CMP-2: expired on {yesterday}; mend it or renew it: {KNOWN.issue}",)


def test_an_expected_failure_that_was_not_selected_is_no_problem() -> None:
    report = judged(PASSES, FAILS, select=["CMP-1"], expected_failures={"CMP-2": KNOWN})
    assert (report.problems, report.exit_code) == ((), 0)


def test_progress_is_told_of_every_check() -> None:
    told: list[tuple[str, int, int]] = []

    def tell(result: CheckResult, number: int, total: int) -> None:
        told.append((result.id, number, total))

    judged(PASSES, FAILS, progress=tell)
    assert told == [(checks.WIRED.id, 1, 3), (PASSES.id, 2, 3), (FAILS.id, 3, 3)]


def test_the_kit_runs_where_a_loop_already_runs() -> None:
    async def in_a_notebook() -> Report:
        return judged(PASSES)

    assert asyncio.run(in_a_notebook()).conformant


def test_an_unnamed_subject_is_called_by_the_type_of_its_transports() -> None:
    assert judged(PASSES).subject.name == "PlainChatTransport"
