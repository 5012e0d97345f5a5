"""Reports as a table for a terminal: a row a clause family, a column of figures a subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from treelang_conformance.clauses import families
from treelang_conformance.registry import SuiteName
from treelang_conformance.report import CheckOutcome, CheckResult, ClauseOutcome, Report

_COLUMNS = (("passed", 6), ("failed", 7), ("n/a", 5), ("other", 6), ("seconds", 8))
_NAMED = {CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.NOT_APPLICABLE}


def results_table(reports: Sequence[Report]) -> Table:
    """Checks passed, failed and not applicable, and the seconds they took, by clause family and subject.

    `other` counts expected failures and what could not run, and is left out where there is nothing of that kind; the
    reports' verdicts name them.
    """
    outcomes = {check.outcome for report in reports for check in report.checks()}
    columns = [column for column in _COLUMNS if column[0] != "other" or outcomes - _NAMED]
    table = Table(box=None, pad_edge=False, show_footer=True, collapse_padding=True)
    table.add_column(Text("\n\nclauses"), footer="all", no_wrap=True)
    for report in reports:
        heading = "".join(f"{name:>{width}}" for name, width in columns)
        table.add_column(
            Text(f"{report.subject.name}\n{_surroundings(report)}\n{heading}", justify="right"),
            footer=_cell(report.checks(), columns),
            no_wrap=True,
            justify="right",
        )
    wanted = wanted_families(reports)
    for family in families():
        if family.id not in wanted:
            continue
        judged = ([clause for clause in report.clauses if clause.family == family.id] for report in reports)
        cells = [_cell((check for clause in clauses for check in clause.checks), columns) for clauses in judged]
        table.add_row(Text(f"{family.id} {family.title.partition(' (')[0]}"), *cells)
    return table


def unchecked_clauses(reports: Iterable[Report]) -> list[str]:
    """The ids of the clauses for which the kit has no check, in the contract's order.

    None where clauses were selected, nor in the suites of one matter, which are about no others.
    """
    found = {
        clause.id: None
        for report in reports
        for clause in report.clauses
        if clause.outcome is ClauseOutcome.UNCHECKED
        and report.selection is None
        and report.suite is SuiteName.TRANSPORT
    }
    return list(found)


def wanted_families(reports: Iterable[Report]) -> set[str]:
    """The ids of the families that runs are about: those of which there were checks to run."""
    return {clause.family for report in reports for clause in report.clauses if clause.checks}


def _surroundings(report: Report) -> str:
    """The wire, and the suite where it is not the first one."""
    suite = "" if report.suite is SuiteName.TRANSPORT else str(report.suite)
    return ", ".join(part for part in (report.wire, suite) if part)


def _cell(checks: Iterable[CheckResult], columns: Sequence[tuple[str, int]]) -> Text:
    checks = list(checks)
    if not checks:
        return Text("-".rjust(sum(width for _, width in columns)), "dim")
    found = Counter(check.outcome for check in checks)
    failed = found[CheckOutcome.FAILED]
    others = sum(number for outcome, number in found.items() if outcome not in _NAMED)
    figures = {
        "passed": (f"{found[CheckOutcome.PASSED]}", ""),
        "failed": (f"{failed}", "bold red" if failed else ""),
        "n/a": (f"{found[CheckOutcome.NOT_APPLICABLE]}", ""),
        "other": (f"{others}", "yellow" if others else ""),
        "seconds": (f"{sum(check.seconds for check in checks):.2f}", ""),
    }
    cell = Text()
    for name, width in columns:
        figure, style = figures[name]
        cell.append(figure.rjust(width), style)
    return cell
