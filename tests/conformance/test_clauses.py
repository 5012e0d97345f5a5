"""The contract as data, the page drawn from it, and the bijection between clauses and checks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from treelang_conformance.clauses import UnknownClauseError, clauses, families, find_clause
from treelang_conformance.contract_page import REFRESH, contract_page
from treelang_conformance.coverage import REASONS_FOR_NO_CHECK
from treelang_conformance.registry import SuiteName, all_checks, every_check, judging_checks, wiring_check
from treelang_conformance.subject import FEATURES

PAGE = Path(__file__).parents[2] / "docs" / "contract.md"


def test_every_clause_has_an_id_of_its_own_within_its_family() -> None:
    ids = [clause.id for clause in clauses()]
    assert len(set(ids)) == len(ids)
    assert all(clause.id.partition("-")[0] == clause.family for clause in clauses())


def test_families_and_clauses_are_the_same_set() -> None:
    assert [clause for family in families() for clause in family.clauses] == list(clauses())
    assert [family.id for family in families()] == [
        "CMP",
        "STR",
        "USE",
        "ERR",
        "CAN",
        "FBK",
        "CAP",
        "SEC",
        "NEG",
        "TOL",
    ]


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == contract_page(), f"renew it with: {REFRESH}"


def test_an_unknown_clause_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownClauseError, match=r"unknown clause 'can-3'; did you mean CAN-3\?"):
        find_clause("can-3")


def test_every_clause_has_a_check_or_a_written_reason_and_never_both() -> None:
    checked = {check.clause for check in every_check()}
    assert set(REASONS_FOR_NO_CHECK) == {clause.id for clause in clauses()} - checked


def test_every_check_proves_a_clause_that_exists() -> None:
    known = {clause.id for clause in clauses()}
    assert [check.id for check in every_check() if check.clause not in {*known, "WIRING"}] == []


def test_check_ids_are_unique() -> None:
    counted = Counter(check.id for check in every_check() if check.clause != "WIRING")
    assert [identifier for identifier, number in counted.items() if number > 1] == []


@pytest.mark.parametrize("suite", SuiteName)
def test_the_wiring_check_of_a_suite_is_one_and_comes_first(suite: SuiteName) -> None:
    assert [check.clause for check in all_checks(suite)].count("WIRING") == 1
    assert wiring_check(suite) is all_checks(suite)[0]
    assert wiring_check(suite).clause == "WIRING"


@pytest.mark.parametrize("suite", SuiteName)
def test_checks_come_in_the_contract_s_order(suite: SuiteName) -> None:
    order = [clause.id for clause in clauses()]
    positions = [order.index(check.clause) for check in judging_checks(suite)]
    assert positions == sorted(positions)


def test_every_check_says_what_it_proves() -> None:
    assert [check.id for check in every_check() if not check.description.endswith(".")] == []


def test_checks_require_only_features_that_exist() -> None:
    assert {feature for check in every_check() for feature in check.requires} <= set(FEATURES)
