"""`treelang conformance`: run the kit, list the contract, explain a clause, show reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from treelang_conformance.clauses import UnknownClauseError
from treelang_conformance.console import Screen, decision_listing, explanation, listing
from treelang_conformance.contract_page import contract_page
from treelang_conformance.decisions import decision_page
from treelang_conformance.expectations import ExpectationError, load_expected_failures
from treelang_conformance.probe import SubjectError
from treelang_conformance.registry import SuiteName, judging_checks
from treelang_conformance.report import Report, ReportError, load_report, schema_text
from treelang_conformance.reports.files import write_reports
from treelang_conformance.runner import SuiteError
from treelang_conformance.runner import run as run_kit
from treelang_conformance.selection import select_checks
from treelang_conformance.subject import FEATURES, UnknownFeatureError
from treelang_conformance.targets import TargetError, load_subject
from treelang_conformance.wires.base import Wire
from treelang_conformance.wires.discovery import UnknownWireError, find_wire, wire_names
from treelang_conformance.workers import WorkerError, sensible_jobs

app = typer.Typer(
    help="Check model transports, negotiators and tool providers against the transport contract.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

CANNOT_RUN = 2
_USERS_MISTAKES = (
    ExpectationError,
    ReportError,
    SubjectError,
    SuiteError,
    TargetError,
    UnknownClauseError,
    UnknownFeatureError,
    UnknownWireError,
    WorkerError,
)


@app.command()
def run(
    target: Annotated[str, typer.Argument(help="The factory as module:attribute.")],
    wire: Annotated[
        str | None, typer.Option(help=f"The protocol that the transport speaks: {', '.join(wire_names())}.")
    ] = None,
    suite: Annotated[
        SuiteName,
        typer.Option(
            help="What to check: a transport, a transport under the arborist (fallback), a negotiator, a tool provider."
        ),
    ] = SuiteName.TRANSPORT,
    json: Annotated[Path | None, typer.Option(help="Write the JSON report to this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained HTML page to this file.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit XML report to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown summary to this file.")] = None,
    select: Annotated[
        str | None, typer.Option(help="Run only these families, clauses or checks, with commas between: CAN,ERR-8.")
    ] = None,
    expected_failures: Annotated[
        Path | None, typer.Option(help="A TOML file of failures to tolerate, each with a reason and an issue.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help=f"What the transport must offer, of {','.join(FEATURES)}; else what it has is judged."),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0.1, help="Multiply the kit's own time limits, for slow or busy machines.")
    ] = 1.0,
    seed: Annotated[
        int, typer.Option(min=0, help="Make other examples in the property checks, or those of a failure again.")
    ] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="How many processes to use; by default as many as pay.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every failure in full.")] = False,
) -> None:
    """Run a suite of the kit against one subject.

    The factory is called with an endpoint for a transport, with nothing for a negotiator, with tools for a provider.

    Exit status: 0 the subject is conformant, 1 it is not, 2 the run could not be made.
    """
    screen = Screen(verbose=verbose)
    try:
        found = _wire(suite, wire)
        selection = _items(select)
        if selection == []:
            raise UnknownClauseError("--select names nothing; for everything leave it out")
        selected = select_checks(judging_checks(suite), selection)
        tolerated = load_expected_failures(expected_failures) if expected_failures else {}
        declared = None if features is None else frozenset(_items(features) or ())
        subject = load_subject(suite, target, declared)
        with screen.progress() as progress:
            report = run_kit(
                subject,
                wire=found,
                suite=suite,
                select=selection,
                expected_failures=tolerated,
                patience=patience,
                seed=seed,
                jobs=jobs or sensible_jobs(len(selected)),
                progress=progress,
            )
        screen.show(report)
        for path in write_reports(report, json=json, html=html, junit=junit, markdown=markdown):
            screen.note(f"wrote {path}")
    except _USERS_MISTAKES as mistake:
        _give_up(str(mistake))
    except OSError as error:
        _give_up(f"{error.filename}: cannot be written: {error.strerror}")
    raise typer.Exit(report.exit_code)


@app.command(name="list")
def list_clauses(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the contract as a page of Markdown.")] = False,
) -> None:
    """List every clause with its level and how many checks prove it."""
    if markdown:
        typer.echo(contract_page(), nl=False)
    else:
        Console(highlight=False).print(listing())


@app.command()
def decisions(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as a page of Markdown.")] = False,
) -> None:
    """Show the decision table of the fallback: what is asked for, and how it ends, in each situation."""
    typer.echo(decision_page() if markdown else decision_listing(), nl=not markdown)


@app.command()
def explain(clause: Annotated[str, typer.Argument(help="The id of a clause, for instance CAN-3.")]) -> None:
    """Show a clause, what its checks prove, the usual causes of failures, and how to run it alone."""
    try:
        typer.echo(explanation(clause))
    except UnknownClauseError as mistake:
        _give_up(str(mistake))


@app.command()
def show(files: Annotated[list[Path], typer.Argument(metavar="REPORT.json...", help="JSON reports.")]) -> None:
    """Show several JSON reports in one table.

    Exit status: 0 all subjects are conformant, 1 one is not, 2 a report cannot be read.
    """
    try:
        reports: list[Report] = [load_report(path) for path in files]
    except ReportError as mistake:
        _give_up(str(mistake))
    Screen().show_table(reports)
    raise typer.Exit(max(report.exit_code for report in reports))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a JSON report."""
    typer.echo(schema_text(), nl=False)


def _wire(suite: SuiteName, name: str | None) -> Wire | None:
    """The wire of a suite that has one.

    Raises:
        SuiteError: It is missing, or one too many.
        UnknownWireError: There is none of that name.
    """
    if suite.has_wire and name is None:
        raise SuiteError(f"name the protocol that the transport speaks: --wire {' or '.join(wire_names())}")
    if not suite.has_wire and name is not None:
        raise SuiteError(f"what the suite {suite} checks speaks no protocol: leave --wire out")
    return None if name is None else find_wire(name)


def _items(text: str | None) -> list[str] | None:
    return None if text is None else [item.strip() for item in text.split(",") if item.strip()]


def _give_up(message: str) -> NoReturn:
    typer.echo(f"treelang conformance: {message}", err=True)
    raise typer.Exit(CANNOT_RUN)
