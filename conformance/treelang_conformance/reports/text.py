"""Failures in words that teach: the clause, what was expected, what happened, the exchange, the usual cause."""

from __future__ import annotations

import textwrap
from collections import Counter

from treelang_conformance.clauses import Level, find_clause
from treelang_conformance.registry import SuiteName
from treelang_conformance.report import CheckOutcome, CheckResult, ClauseOutcome, Report

_WIDTH = 118
_LABEL = 10


def failure_text(result: CheckResult) -> str:
    """Everything there is to learn from a failed check, as plain text of several lines."""
    failure = result.failure
    if failure is None:
        return f"{result.id}: {result.outcome}: {result.reason}"
    clause = result.id.partition("/")[0]
    return "\n".join(
        (
            *_clause_lines(clause),
            *_labelled("check", f"{result.id}: {result.description}"),
            *_labelled("expected", failure.expected),
            *_labelled("happened", failure.happened),
            *_verbatim("exchange", failure.exchange),
            *_labelled("hint", failure.hint),
        )
    )


def short_failure_text(result: CheckResult) -> str:
    """One line about a check that did not pass."""
    if result.failure is None:
        return f"{result.id}: {result.outcome}: {result.reason}"
    return f"{result.id}: expected {result.failure.expected}; {result.failure.happened}"


def clause_title(identifier: str) -> str:
    """A clause in one line: id, level and text; what belongs to no clause is the set-up."""
    if identifier == "WIRING":
        return "WIRING: the factory makes what is under test, and it does the least that every check needs."
    clause = find_clause(identifier)
    return f"{clause.id} ({clause.level}) {clause.text}"


def title(report: Report) -> str:
    """What was judged: the subject, its wire, and the suite where it is not the first one."""
    name = f"{report.subject.name} on {report.wire}" if report.wire else report.subject.name
    return name if report.suite is SuiteName.TRANSPORT else f"{name}, suite {report.suite}"


def verdict(report: Report) -> str:
    """The conclusion in one line."""
    name = title(report)
    if report.conformant:
        extent = "conformant" if report.selection is None else "conformant in what was selected"
        return f"{name}: {extent}{_reservations(report)}"
    if report.wiring is not None and report.wiring.outcome is not CheckOutcome.PASSED:
        return f"{name}: not judged: the wiring check failed, and nothing else can run before it passes"
    must = ", ".join(clause.id for clause in report.violated(Level.MUST))
    reasons = [f"MUST clauses violated: {must}"] if must else []
    for outcome in (ClauseOutcome.COULD_NOT_RUN, ClauseOutcome.KIT_ERROR):
        ids = ", ".join(clause.id for clause in report.clauses if clause.outcome is outcome)
        reasons += [f"{outcome}: {ids}"] if ids else []
    reasons += report.problems
    return f"{name}: not conformant: {'; '.join(reasons)}{_reservations(report)}"


def counts(report: Report) -> str:
    """How many checks ended how, the outcomes that occur only."""
    found = Counter(check.outcome for check in report.checks())
    return ", ".join(f"{found[outcome]} {outcome}" for outcome in CheckOutcome if found[outcome])


def _reservations(report: Report) -> str:
    should = ", ".join(clause.id for clause in report.violated(Level.SHOULD))
    expected = ", ".join(clause.id for clause in report.clauses if clause.outcome is ClauseOutcome.EXPECTED_FAILURE)
    found = [f"SHOULD clauses not kept: {should}"] if should else []
    found += [f"expected failures: {expected}"] if expected else []
    return f" ({'; '.join(found)})" if found else ""


def _clause_lines(identifier: str) -> list[str]:
    return textwrap.wrap(clause_title(identifier), _WIDTH, subsequent_indent="  ")


def _labelled(label: str, text: str) -> list[str]:
    if not text:
        return []
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=f"  {label:<{_LABEL}}",
        subsequent_indent=" " * (_LABEL + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _verbatim(label: str, text: str) -> list[str]:
    lines = text.splitlines()
    return [f"  {label if number == 0 else '':<{_LABEL}}{line}" for number, line in enumerate(lines)]
