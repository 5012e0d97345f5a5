"""Every mutant is found by the clauses that it violates. What else it may fail is the kill table's to say."""

from __future__ import annotations

import pytest

from tests.conformance.mutants.catalogue import catalogue
from tests.conformance.mutants.mutation import Mutant
from tests.conformance.mutants.trial import try_out
from treelang_conformance.clauses import clauses
from treelang_conformance.registry import judging_checks

MUTANTS = catalogue()


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.id for mutant in MUTANTS])
def test_a_mutant_is_found_by_each_clause_that_it_violates(mutant: Mutant) -> None:
    trial = try_out(mutant, [check for check in judging_checks() if check.clause in mutant.clauses])
    assert list(trial.problems()) == []
    assert trial.found.keys() == set(mutant.clauses)


def test_every_must_clause_that_has_checks_has_a_mutant() -> None:
    checked = {check.clause for check in judging_checks()}
    violated = {clause for mutant in MUTANTS for clause in mutant.clauses}
    assert [clause.id for clause in clauses() if clause.level == "MUST" and clause.id in checked - violated] == []
