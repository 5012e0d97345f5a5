"""Choosing checks by family (`CAN`), clause (`ERR-8`), check (`ERR-8/name`) or instance (`ERR-8/name[stream]`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treelang_conformance.clauses import UnknownClauseError, clauses, families, unknown
from treelang_conformance.registry import Check


def select_checks(checks: Iterable[Check], selection: Sequence[str] | None) -> list[Check]:
    """The checks that a selection names, in their order; all of them for `None`.

    Raises:
        UnknownClauseError: An item names neither a family, a clause nor a check; the message names the nearest.
    """
    checks = list(checks)
    if selection is None:
        return checks
    names = {check.id: _names(check) for check in checks}
    known = {family.id for family in families()} | {clause.id for clause in clauses()}
    known = known.union(*names.values())
    for item in selection:
        if item not in known:
            raise UnknownClauseError(unknown("clause", item, sorted(known)))
    return [check for check in checks if names[check.id] & set(selection)]


def _names(check: Check) -> set[str]:
    return {check.clause.partition("-")[0], check.clause, f"{check.clause}/{check.name}", check.id}
