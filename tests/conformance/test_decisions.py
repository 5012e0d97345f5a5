"""The decision table as data: its page, its situations, and that each of its cells is a check."""

from __future__ import annotations

from pathlib import Path

import treelang
from treelang_conformance.checks.fallback._situations import PLAYS
from treelang_conformance.clauses import find_clause
from treelang_conformance.decisions import ANOTHER_FAILURE, ANSWER, POLICIES, REFRESH, decision_page, situations
from treelang_conformance.registry import SuiteName, judging_checks

PAGE = Path(__file__).parents[2] / "docs" / "fallback.md"
CELLS = [
    (situation, policy, decision) for situation in situations() for policy, decision in situation.decisions.items()
]


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == decision_page(), f"renew it with: {REFRESH}"


def test_every_situation_has_an_id_of_its_own_and_can_be_played() -> None:
    assert [situation.id for situation in situations()] == list(PLAYS)


def test_every_cell_is_a_check_in_each_of_its_ways_to_call() -> None:
    due = {
        f"{decision.clause}[{mode}-{policy}-{situation.id}]"
        for situation, policy, decision in CELLS
        for mode in situation.calls
    }
    made = {
        f"{check.clause}[{check.mode}-{check.parameter[0]}]"
        for check in judging_checks(SuiteName.FALLBACK)
        if check.parameter is not None and isinstance(check.parameter[1], tuple)
    }
    assert made == due


def test_cells_name_clauses_outputs_and_errors_that_exist() -> None:
    for _, _, decision in CELLS:
        assert find_clause(decision.clause).family == "FBK"
        assert set(decision.requests) <= {"strict", "json"}
        known = {ANSWER, ANOTHER_FAILURE, "CancelledError"}
        assert decision.ends in known or issubclass(getattr(treelang, decision.ends), treelang.TreelangError)


def test_only_auto_falls_back_and_only_once() -> None:
    for _, policy, decision in CELLS:
        changes = sum(one != other for one, other in zip(decision.requests, decision.requests[1:], strict=False))
        assert changes <= (policy == "auto")
        assert policy != "compatibility" or set(decision.requests) == {"json"}
        assert policy != "required" or "json" not in decision.requests
    assert {policy for _, policy, _ in CELLS} == set(POLICIES)
