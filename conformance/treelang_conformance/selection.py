"""Choosing checks by family (`CAN`), clause (`ERR-8`), check (`ERR-8/name`) or instance (`ERR-8/name[stream]`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treelang_conformance.clauses import UnknownClauseError, clauses, families, unknown
from treelang_conformance.registry import Check, suites_of


def select_checks(checks: Iterable[Check], selection: Sequence[str] | None) -> list[Check]:
    """The checks that a selection names, in their order; all of them for `None`.

    Raises:
        UnknownClauseError: An item names neither a family, a clause nor a check, and the message names the nearest; or
            what it names is of another suite, which the message names.
    """
    checks = list(checks)
    if selection is None:
        return checks
    here: set[str] = set().union(*(check.names for check in checks))
    for item in selection:
        if item not in here:
            _explain(item, here)
    return [check for check in checks if check.names & set(selection)]


def _explain(item: str, here: set[str]) -> None:
    """Say what is wrong with an item that selects nothing; a clause that no suite can check is not wrong."""
    elsewhere = suites_of(item)
    if elsewhere:
        raise UnknownClauseError(f"{item} is checked by another suite: --suite {' or '.join(elsewhere)}")
    known = here | {family.id for family in families()} | {clause.id for clause in clauses()}
    if item not in known:
        raise UnknownClauseError(unknown("clause", item, sorted(known)))
