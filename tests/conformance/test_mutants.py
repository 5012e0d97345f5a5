"""Every mutant is found by the clauses that it violates, on the first of its wires.

The other wires, and that no other clause fails, are the kill table's to prove (`make mutants`).
"""

from __future__ import annotations

import pytest

from tests.conformance.mutants.catalogue import catalogue
from tests.conformance.mutants.mutation import Mutant
from tests.conformance.mutants.trial import try_out
from treelang_conformance.clauses import clauses
from treelang_conformance.registry import SuiteName, judging_checks

MUTANTS = {mutant.name: mutant for mutant in reversed(catalogue())}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
def test_a_mutant_is_found_by_each_clause_that_it_violates(mutant: Mutant) -> None:
    trial = try_out(mutant, [check for check in judging_checks(mutant.suite) if check.clause in mutant.clauses])
    assert list(trial.problems()) == []
    assert trial.found.keys() == set(mutant.clauses)


@pytest.mark.parametrize("suite", SuiteName)
def test_every_must_clause_that_has_checks_has_a_mutant(suite: SuiteName) -> None:
    checked = {check.clause for check in judging_checks(suite)}
    violated = {clause for mutant in MUTANTS.values() if mutant.suite is suite for clause in mutant.clauses}
    assert [clause.id for clause in clauses() if clause.level == "MUST" and clause.id in checked - violated] == []
