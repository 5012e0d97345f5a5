"""Judging claims by evidence: a claimed feature is proven where every one of its clauses is, in every report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treelang_conformance.report import CheckOutcome
from treelang_matrix.evidence import Evidence, EvidenceByAdapter
from treelang_matrix.manifest import Feature, Manifest


@dataclass(frozen=True, slots=True)
class Gap:
    """A clause that a report does not prove, and what in the report says so."""

    clause: str
    reason: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What one report has to say about one feature.

    Attributes:
        passed: How many checks of the feature's clauses passed.
        gaps: The clauses of the feature that the report does not prove.
    """

    passed: int
    gaps: tuple[Gap, ...]


def prove(feature: Feature, evidence: Evidence) -> Proof:
    """Hold the clauses of `feature` against `evidence`.

    A clause is proven where at least one of its checks passed and the others did not apply. An expected failure is
    a failure here: whoever expects it knows that the feature is not there.
    """
    passed = 0
    gaps = []
    for identifier in feature.clauses:
        clause = evidence.clause(identifier)
        checks = clause.checks if clause is not None else ()
        successes = sum(check.outcome is CheckOutcome.PASSED for check in checks)
        against = [c for c in checks if c.outcome not in (CheckOutcome.PASSED, CheckOutcome.NOT_APPLICABLE)]
        if against:
            gaps.append(Gap(identifier, ", ".join(f"{check.id} is {check.outcome}" for check in against)))
        elif not successes:
            gaps.append(Gap(identifier, "none of its checks applied" if checks else "no check of it was run"))
        passed += successes
    return Proof(passed, tuple(gaps))


def unproven_claims(manifest: Manifest, evidence: EvidenceByAdapter) -> Iterator[str]:
    """Yield one line for each clause of a claimed feature that one of the adapter's reports does not prove."""
    for adapter in manifest.adapters:
        for feature in manifest.features:
            claim = adapter.features[feature.id]
            if not claim.status.needs_evidence:
                continue
            for report in evidence[adapter.id]:
                for gap in prove(feature, report).gaps:
                    yield (
                        f"{adapter.id}: the feature {feature.id} is claimed as {claim.status}, but {report.path} "
                        f"does not prove {gap.clause}: {gap.reason}"
                    )
