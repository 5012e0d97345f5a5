"""Judging claims by evidence: a claimed feature is proven where its clauses are, in every report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treelang_conformance.report import CheckOutcome, CheckResult
from treelang_matrix.evidence import Evidence, EvidenceByAdapter
from treelang_matrix.manifest import Feature, Manifest


@dataclass(frozen=True, slots=True)
class Gap:
    """Clauses that a report does not prove, and what in the report says so."""

    clauses: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What one report has to say about one feature.

    Attributes:
        passed: How many checks of the feature's clauses passed.
        gaps: What the report leaves unproven; the feature is proven where there is nothing.
    """

    passed: int
    gaps: tuple[Gap, ...]


def prove(feature: Feature, evidence: Evidence) -> Proof:
    """Hold the clauses of `feature` against `evidence`.

    Each clause must have been checked, and nothing may speak against it; an expected failure does, since whoever
    expects it knows that the feature is not there. A wire may have no use for one clause or another, whose checks
    then do not apply, but of the feature as a whole something must have passed.
    """
    passed, gaps = 0, []
    for identifier in feature.clauses:
        checks = evidence.checks_of(identifier)
        successes = [check for check in checks if check.outcome is CheckOutcome.PASSED]
        against = [c for c in checks if c.outcome not in (CheckOutcome.PASSED, CheckOutcome.NOT_APPLICABLE)]
        if against:
            gaps.append(Gap((identifier,), _shortened(against)))
        elif not checks:
            gaps.append(Gap((identifier,), "no check of it was run"))
        passed += len(successes)
    if not passed and not gaps:
        gaps.append(Gap(feature.clauses, "none of their checks applied"))
    return Proof(passed, tuple(gaps))


def _shortened(against: Sequence[CheckResult]) -> str:
    first, *others = against
    return f"{first.id} is {first.outcome}" + (f", and so on for {len(others)} more" if others else "")


def unproven_claims(manifest: Manifest, evidence: EvidenceByAdapter) -> Iterator[str]:
    """Yield one line for each gap in the proof of a claimed feature."""
    for adapter in manifest.adapters:
        for feature in manifest.features:
            claim = adapter.features[feature.id]
            if not claim.status.needs_evidence:
                continue
            for report in evidence[adapter.id]:
                for gap in prove(feature, report).gaps:
                    yield (
                        f"{adapter.id}: the feature {feature.id} is claimed as {claim.status}, but {report.path} "
                        f"does not prove {', '.join(gap.clauses)}: {gap.reason}"
                    )
