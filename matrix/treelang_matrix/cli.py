"""`treelang matrix`: build the provider page, and check that nothing in it is stale or claimed without proof."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from treelang_matrix.claims import unproven_claims
from treelang_matrix.errors import MatrixInputError
from treelang_matrix.evidence import EvidenceByAdapter, gather_evidence, gather_evidence_in, worthless_evidence
from treelang_matrix.manifest import Manifest, load_manifest, manifest_schema_text
from treelang_matrix.page import PAGE, render_page
from treelang_matrix.profiles import profile_differences

MANIFEST = Path("matrix/providers.toml")
PROBLEMS_FOUND = 1
UNUSABLE_INPUT = 2

app = typer.Typer(
    help="Build and check the provider matrix.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Root = Annotated[Path, typer.Option(help="The project's root, where the folders matrix and docs are.")]


@app.command()
def build(root: Root = Path()) -> None:
    """Write docs/provider-matrix.md from the manifest and the evidence."""
    try:
        manifest = load_manifest(root / MANIFEST)
        page = render_page(manifest, gather_evidence(manifest, root))
    except MatrixInputError as error:
        _give_up(error)
    target = root / PAGE
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        _give_up(MatrixInputError(f"{target}: cannot be written: {error.strerror}"))
    typer.echo(f"wrote {target}")


@app.command()
def check(
    root: Root = Path(),
    evidence: Annotated[
        Path | None,
        typer.Option(help="Hold the claims against the reports in this folder instead, and leave the page alone."),
    ] = None,
) -> None:
    """Fail if the page is stale, a model profile is wrong, or a claimed feature is not proven.

    Exit status: 0 everything holds, 1 something does not, 2 the manifest or a report cannot be used.
    """
    try:
        manifest = load_manifest(root / MANIFEST)
        reports = gather_evidence(manifest, root) if evidence is None else gather_evidence_in(evidence, manifest)
        problems = [*_profile_problems(root, manifest), *_evidence_problems(manifest, reports)]
        if evidence is None:
            problems += _page_problems(root, render_page(manifest, reports))
    except MatrixInputError as error:
        _give_up(error)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(PROBLEMS_FOUND)
    typer.echo("The provider matrix holds: every claim is proven, every model profile is the adapter's own.")


@app.command()
def schema() -> None:
    """Print the JSON Schema of the manifest."""
    typer.echo(manifest_schema_text(), nl=False)


def _profile_problems(root: Path, manifest: Manifest) -> Iterator[str]:
    differs = False
    for index, adapter in enumerate(manifest.adapters):
        for difference in profile_differences(adapter, f"{root / MANIFEST}: adapters.{index}"):
            differs = True
            yield difference
    if differs:
        yield f"Mend the profiles in {MANIFEST}, or the adapter; then run: treelang matrix build"


def _evidence_problems(manifest: Manifest, reports: EvidenceByAdapter) -> Iterator[str]:
    # What a worthless report does not prove is of no interest beside why it is worthless.
    problems = [*worthless_evidence(reports)] or [*unproven_claims(manifest, reports)]
    yield from problems
    if problems:
        yield f"Mend the adapter and renew the reports (make evidence), or withdraw the claim in {MANIFEST}"


def _page_problems(root: Path, page: str) -> Iterator[str]:
    path = root / PAGE
    if not path.exists():
        yield f"{path} is missing. Write it with: treelang matrix build"
        return
    found = path.read_text(encoding="utf-8")
    if found != page:
        yield "".join(
            difflib.unified_diff(
                found.splitlines(keepends=True), page.splitlines(keepends=True), f"{PAGE} (found)", f"{PAGE} (due)"
            )
        ).rstrip("\n")
        yield f"{path} is stale. Write it anew with: treelang matrix build"


def _give_up(error: MatrixInputError) -> NoReturn:
    typer.echo(f"treelang matrix: {error}", err=True)
    raise typer.Exit(UNUSABLE_INPUT) from None
