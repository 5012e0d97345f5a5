"""Reports as a table for a terminal: a row a clause family, a column of figures a subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from treelang_conformance.clauses import families
from treelang_conformance.report import CheckOutcome, CheckResult, ClauseOutcome, Report

_COLUMNS = (("passed", 6), ("failed", 7), ("n/a", 5), ("other", 6), ("seconds", 8))
_NAMED = {CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.NOT_APPLICABLE}


def results_table(reports: Sequence[Report]) -> Table:
    """Checks passed, failed and not applicable, and the seconds they took, by clause family and subject.

    `other` counts expected failures and what could not run; the reports' verdicts name them.
    """
    table = Table(box=None, pad_edge=False, show_footer=True, collapse_padding=True)
    table.add_column(Text("\nclauses"), footer="all")
    for report in reports:
        heading = "".join(f"{name:>{width}}" for name, width in _COLUMNS)
        title = f"{report.subject.name} ({report.wire})"
        table.add_column(
            Text(f"{title:>{len(heading)}}\n{heading}"), footer=_cell(report.checks()), no_wrap=True, justify="right"
        )
    for family in families():
        cells = [
            _cell(check for clause in report.clauses if clause.family == family.id for check in clause.checks)
            for report in reports
        ]
        table.add_row(Text(f"{family.id} {family.title.partition(' (')[0]}"), *cells)
    return table


def unchecked_clauses(reports: Iterable[Report]) -> list[str]:
    """The ids of the clauses for which the kit has no check, in the contract's order."""
    found = {
        clause.id: None for report in reports for clause in report.clauses if clause.outcome is ClauseOutcome.UNCHECKED
    }
    return list(found)


def _cell(checks: Iterable[CheckResult]) -> Text:
    checks = list(checks)
    if not checks:
        return Text("-".rjust(sum(width for _, width in _COLUMNS)), "dim")
    found = Counter(check.outcome for check in checks)
    failed = found[CheckOutcome.FAILED]
    others = sum(number for outcome, number in found.items() if outcome not in _NAMED)
    figures = (
        f"{found[CheckOutcome.PASSED]}",
        f"{failed}",
        f"{found[CheckOutcome.NOT_APPLICABLE]}",
        f"{others}",
        f"{sum(check.seconds for check in checks):.2f}",
    )
    styles = ("", "bold red" if failed else "", "", "yellow" if others else "", "")
    cell = Text()
    for figure, style, (_, width) in zip(figures, styles, _COLUMNS, strict=True):
        cell.append(figure.rjust(width), style)
    return cell
