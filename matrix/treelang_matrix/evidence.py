"""Evidence: conformance reports, read by the kit's own published form, and whether they are about this project."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from treelang_conformance.clauses import contract_digest
from treelang_conformance.environment import kit_version
from treelang_conformance.report import CheckOutcome, CheckResult, Report, ReportError, load_report
from treelang_matrix.errors import MatrixInputError
from treelang_matrix.manifest import Adapter, Manifest


@dataclass(frozen=True, slots=True)
class Evidence:
    """One report about one adapter.

    Attributes:
        path: Where the report is, from the project's root.
        report: What it says.
    """

    path: Path
    report: Report

    def checks_of(self, clause: str) -> tuple[CheckResult, ...]:
        """The checks of a clause that were run; none where the report does not know the clause."""
        return next((result.checks for result in self.report.clauses if result.id == clause), ())

    @property
    def summary(self) -> str:
        """How many checks ended how, the outcomes that occur only."""
        counts = Counter(check.outcome for check in self.report.checks())
        return ", ".join(f"{counts[outcome]} {outcome}" for outcome in CheckOutcome if counts[outcome])


EvidenceByAdapter: TypeAlias = Mapping[str, Sequence[Evidence]]
"""The reports about each adapter, by the adapter's id, in the order of the manifest's evidence sets."""


def gather_evidence(manifest: Manifest, root: Path) -> EvidenceByAdapter:
    """Read every report that the manifest names.

    Raises:
        MatrixInputError: A report is missing, cannot be read, or is about something else than its adapter.
    """
    folders = [Path(evidence.folder) for evidence in manifest.evidence]
    return {
        adapter.id: [_load(root, folder / f"{adapter.id}.json", adapter) for folder in folders]
        for adapter in manifest.adapters
    }


def gather_evidence_in(folder: Path, manifest: Manifest) -> EvidenceByAdapter:
    """Read one report for each adapter from `folder`, instead of those that the manifest names.

    Raises:
        MatrixInputError: As `gather_evidence`.
    """
    return {adapter.id: [_load(Path(), folder / f"{adapter.id}.json", adapter)] for adapter in manifest.adapters}


def _load(root: Path, path: Path, adapter: Adapter) -> Evidence:
    if not (root / path).exists():
        raise MatrixInputError(
            f"{root / path}: the report about the adapter {adapter.id!r} is missing; make it with: make evidence"
        )
    try:
        report = load_report(root / path)
    except ReportError as error:
        raise MatrixInputError(str(error)) from None
    for field, found, due in (
        ("wire", report.wire, adapter.wire),
        ("subject.target", report.subject.target, adapter.subject),
    ):
        if found != due:
            raise MatrixInputError(
                f"{root / path}: {field}: the report is about {found!r}, but the manifest says {due!r} for "
                f"the adapter {adapter.id!r}; renew the reports with: make evidence"
            )
    return Evidence(path, report)


def worthless_evidence(evidence: EvidenceByAdapter) -> Iterator[str]:
    """Yield one line for each report that is of another contract or version, or of a run that went wrong."""
    for item in itertools.chain.from_iterable(evidence.values()):
        path, content = item.path, item.report
        if content.contract_digest != contract_digest():
            yield f"{path}: contract_digest: the report is about another text of the contract"
        if content.kit_version != kit_version():
            yield f"{path}: kit_version: the report is of version {content.kit_version}, this is {kit_version()}"
        for problem in content.problems:
            yield f"{path}: problems: {problem}"
        if content.wiring is not None and content.wiring.outcome is not CheckOutcome.PASSED:
            yield f"{path}: wiring: the check of the set-up is {content.wiring.outcome}"
