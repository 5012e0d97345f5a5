"""Failures that are known and tolerated for a while: each with its reason and where it is tracked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from treelang_conformance.clauses import unknown
from treelang_conformance.registry import Check, suites_of
from treelang_conformance.report import CheckOutcome, CheckResult


class ExpectationError(Exception):
    """A file of expected failures cannot be used; the message names the file, the entry and the mend."""


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """One tolerated failure.

    Attributes:
        reason: Why it fails.
        issue: Where it is tracked, usually an address.
        expires: The last day on which it is tolerated; `None` for no such day.
    """

    reason: str
    issue: str
    expires: date | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip() or not self.issue.strip():
            raise ValueError("an expected failure needs a reason and an issue")


ExpectedFailures = Mapping[str, ExpectedFailure]
"""By id: a clause (`ERR-8`), a check (`ERR-8/retry-after-is-read`) or one instance of it (`...[stream-ms]`)."""


def covers(identifier: str, check: Check) -> bool:
    """Whether an id names this check instance."""
    return identifier in {check.clause, f"{check.clause}/{check.name}", check.id}


def find_expectation(check: Check, expected: ExpectedFailures) -> ExpectedFailure | None:
    """The entry that covers a check and has not expired, the most exact id first."""
    for identifier in (check.id, f"{check.clause}/{check.name}", check.clause):
        entry = expected.get(identifier)
        if entry is not None and not is_expired(entry):
            return entry
    return None


def is_expired(entry: ExpectedFailure) -> bool:
    """Whether the last day of an entry is over."""
    return entry.expires is not None and entry.expires < date.today()


def expect(result: CheckResult, entry: ExpectedFailure | None) -> CheckResult:
    """The result in the light of the entry that covers its check: a failure is then an expected one."""
    if entry is None or result.outcome is not CheckOutcome.FAILED:
        return result
    changes = {"outcome": CheckOutcome.EXPECTED_FAILURE, "reason": entry.reason, "issue": entry.issue}
    return result.model_copy(update=changes)


def is_unexpected_pass(covered: Iterable[CheckResult]) -> bool:
    """Whether an entry is out of date: of the checks that it covers some passed and none failed."""
    outcomes = {result.outcome for result in covered}
    return CheckOutcome.PASSED in outcomes and not outcomes & {CheckOutcome.FAILED, CheckOutcome.EXPECTED_FAILURE}


def unexpected_pass(identifier: str, entry: ExpectedFailure) -> str:
    """The message for an entry that is out of date."""
    return f"expected failure {identifier}: it passes now; remove the entry ({entry.issue})"


def defects(expected: ExpectedFailures, checks: Iterable[Check]) -> list[str]:
    """What is wrong with entries whatever the subject does: unknown ids and expired ones."""
    checks = list(checks)
    known = {one for check in checks for one in (check.clause, f"{check.clause}/{check.name}", check.id)}
    found = []
    for identifier, entry in expected.items():
        if identifier not in known:
            found.append(f"expected failure {identifier}: {_unknown(identifier, known)}")
        elif is_expired(entry):
            found.append(
                f"expected failure {identifier}: expired on {entry.expires}; mend it or renew it: {entry.issue}"
            )
    return found


def _unknown(identifier: str, known: Iterable[str]) -> str:
    suites = suites_of(identifier)
    if suites:
        return f"is of the suite {' or '.join(suites)}; keep a file for each suite"
    return unknown("check", identifier, known)


def load_expected_failures(path: Path) -> dict[str, ExpectedFailure]:
    """Read a TOML file: one table an id, with `reason`, `issue` and perhaps `expires` (a date).

    Raises:
        ExpectationError: The file cannot be read or an entry is not of this form.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExpectationError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ExpectationError(f"{path}: is no TOML: {error}") from None
    return {identifier: _entry(path, identifier, table) for identifier, table in tables.items()}


def _entry(path: Path, identifier: str, table: object) -> ExpectedFailure:
    form = 'reason = "...", issue = "..." and perhaps expires = 2030-01-31'
    if not isinstance(table, dict) or not table.keys() <= {"reason", "issue", "expires"}:
        raise ExpectationError(f"{path}: {identifier}: write a table with {form}")
    reason, issue, expires = table.get("reason"), table.get("issue"), table.get("expires")
    if not (isinstance(reason, str) and reason.strip() and isinstance(issue, str) and issue.strip()):
        raise ExpectationError(f"{path}: {identifier}: needs a reason and an issue, as in {form}")
    if expires is not None and type(expires) is not date:
        raise ExpectationError(f"{path}: {identifier}: expires must be a date without quotes, such as 2030-01-31")
    return ExpectedFailure(reason, issue, expires)
