"""The reports under matrix/evidence are of the checks that the kit has now."""

from __future__ import annotations

from pathlib import Path

import pytest

from treelang_conformance.registry import SuiteName, judging_checks
from treelang_conformance.report import load_report
from treelang_matrix.manifest import load_manifest

ROOT = Path(__file__).parents[2]
MANIFEST = load_manifest(ROOT / "matrix" / "providers.toml")
REPORTS = [
    path.relative_to(ROOT) for evidence in MANIFEST.evidence for path in sorted((ROOT / evidence.folder).glob("*.json"))
]


def test_there_is_evidence_of_every_adapter_and_every_suite() -> None:
    of_adapters = {
        Path(evidence.folder) / f"{adapter.id}.json" for evidence in MANIFEST.evidence for adapter in MANIFEST.adapters
    }
    assert of_adapters <= set(REPORTS)
    assert {load_report(ROOT / path).suite for path in REPORTS} == set(SuiteName)


@pytest.mark.parametrize("path", REPORTS, ids=str)
def test_the_evidence_is_of_every_check_that_there_is(path: Path) -> None:
    report = load_report(ROOT / path)
    ran = {check.id for check in report.checks()}
    due = {check.id for check in judging_checks(report.suite)}
    assert (ran - due, due - ran) == (set(), set()), "the evidence is of other checks; renew it with: make evidence"
