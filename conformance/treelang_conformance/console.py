"""What the command line shows: progress, failures, the table and the conclusion."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from treelang_conformance.clauses import WIRING, clauses, find_clause
from treelang_conformance.coverage import REASONS_FOR_NO_CHECK
from treelang_conformance.decisions import situations
from treelang_conformance.registry import Check, SuiteName, every_check
from treelang_conformance.report import CheckOutcome, CheckResult, Report
from treelang_conformance.reports.table import results_table, unchecked_clauses
from treelang_conformance.reports.text import clause_title, counts, failure_text, short_failure_text, verdict
from treelang_conformance.runner import ProgressCallback

_WIDTH_OF_FILES = 120
_TROUBLE = {CheckOutcome.FAILED, CheckOutcome.KIT_ERROR}


class Screen:
    """Writes to the terminal or to whatever stands in its place; colour and progress only on a terminal.

    Attributes:
        verbose: Show every failure in full, not only the first of each clause.
    """

    def __init__(self, *, verbose: bool = False) -> None:
        self.verbose = verbose
        self._out = Console(highlight=False)
        if not self._out.is_terminal:
            self._out.width = _WIDTH_OF_FILES
        self._err = Console(highlight=False, stderr=True)

    @contextlib.contextmanager
    def progress(self) -> Iterator[ProgressCallback]:
        """A bar on a terminal, which is gone when the run is over."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=self._err, transient=True, disable=not self._err.is_terminal) as bar:
            task = bar.add_task("wiring", total=None)

            def advance(result: CheckResult, number: int, total: int) -> None:
                bar.update(task, description=result.id.partition("/")[0], completed=number, total=total)

            yield advance

    def show(self, report: Report) -> None:
        """Show a whole run: its failures in words, the table, the conclusion."""
        if report.wiring is not None and report.wiring.outcome is not CheckOutcome.PASSED:
            self._plain(failure_text(report.wiring))
            self._plain("")
            self._plain(verdict(report))
            return
        for clause in report.clauses:
            self._show_failures([check for check in clause.checks if check.outcome in _TROUBLE])
        self.show_table([report])
        self._plain(f"{counts(report) or 'no check'}; the run took {report.seconds:.1f} s")

    def show_table(self, reports: Sequence[Report]) -> None:
        """Show the results of several runs, those of a suite side by side where there is room, and the conclusions."""
        for suite in dict.fromkeys(report.suite for report in reports):
            self._show_side_by_side([report for report in reports if report.suite is suite])
        unchecked = unchecked_clauses(reports)
        if unchecked:
            self._plain(f"unchecked (not to be proved by the kit): {', '.join(unchecked)}")
        for report in reports:
            self._plain(verdict(report))

    def _show_side_by_side(self, reports: Sequence[Report]) -> None:
        together = results_table(reports)
        unbounded = self._out.options.update(max_width=1_000)
        fits = self._out.measure(together, options=unbounded).maximum <= self._out.width
        for table in [together] if fits else [results_table([report]) for report in reports]:
            self._out.print(table)
            self._plain("")

    def note(self, line: str) -> None:
        """Show one more line."""
        self._plain(line)

    def _show_failures(self, failures: Sequence[CheckResult]) -> None:
        shown = failures if self.verbose else failures[:1]
        for failure in shown:
            self._plain(failure_text(failure))
            self._plain("")
        rest = failures[len(shown) :]
        if rest:
            self._plain(f"  and {len(rest)} more of this clause (--verbose shows them in full):")
            for failure in rest:
                self._plain(f"    {short_failure_text(failure)}")
            self._plain("")

    def _plain(self, text: str) -> None:
        self._out.print(text, markup=False, soft_wrap=True)


def listing() -> Table:
    """Every clause with its level, the number of its checks and their suites."""
    found: dict[str, list[SuiteName]] = defaultdict(list)
    for check in every_check():
        found[check.clause].append(check.suite)
    table = Table(box=None, pad_edge=False)
    table.add_column("clause", no_wrap=True)
    table.add_column("level")
    table.add_column("checks", justify="right")
    table.add_column("suite")
    table.add_column("text")
    for clause in clauses():
        suites = found[clause.id]
        table.add_row(
            clause.id, clause.level, f"{len(suites) or 'unchecked'}", ", ".join(dict.fromkeys(suites)), clause.text
        )
    return table


def decision_listing() -> str:
    """The decision table of the fallback, a paragraph for each situation."""
    paragraphs = []
    for situation in situations():
        lines = [f"{situation.id}: {situation.text}"]
        for policy, decision in situation.decisions.items():
            lines.append(f"  {policy:<15}{decision} ({decision.clause})")
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def explanation(identifier: str) -> str:
    """A clause, its checks with the usual causes of their failures, and how to run it alone.

    Raises:
        UnknownClauseError: There is no such clause.
    """
    clause = identifier.partition("/")[0]
    if clause != WIRING:
        find_clause(clause)
    checks = [check for check in every_check() if check.clause == clause]
    lines = [clause_title(clause), ""]
    if not checks:
        lines.append(f"unchecked: {REASONS_FOR_NO_CHECK[clause]}.")
    for instances in _by_name(checks):
        first = instances[0]
        lines.append(f"{first.clause}/{first.name} ({_instances(len(instances))})")
        lines.append(f"  proves that: {first.description}")
        if first.requires:
            lines.append(f"  applies to transports that offer: {', '.join(sorted(first.requires))}")
        if first.hint:
            lines.append(f"  usual cause of a failure: {first.hint}")
    for suite in dict.fromkeys(check.suite for check in checks):
        lines += ["", f"run it alone: {_command(suite)} --select {clause}"]
    return "\n".join(lines)


def _command(suite: SuiteName) -> str:
    wire = " --wire WIRE" if suite.has_wire else ""
    return f"treelang conformance run TARGET{wire}" + ("" if suite is SuiteName.TRANSPORT else f" --suite {suite}")


def _instances(number: int) -> str:
    return "1 instance" if number == 1 else f"{number} instances"


def _by_name(checks: Iterable[Check]) -> Iterable[Sequence[Check]]:
    found: dict[str, list[Check]] = defaultdict(list)
    for check in checks:
        found[check.name].append(check)
    return found.values()
