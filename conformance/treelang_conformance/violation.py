"""How a check ends other than by passing: the subject broke the clause, or there was nothing to judge."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Violation(AssertionError):  # noqa: N818  # an outcome, not an error of the kit
    """The subject breaks the clause.

    Attributes:
        expected: What the clause asks for in this situation.
        happened: What the subject did instead.
        hint: The usual cause, where the check knows one better than its own general hint; else empty.
    """

    def __init__(self, *, expected: str, happened: str, hint: str = "") -> None:
        super().__init__(f"expected {expected}; {happened}")
        self.expected = expected
        self.happened = happened
        self.hint = hint


class NotApplicable(Exception):  # noqa: N818  # an outcome, not an error
    """The wire or the subject has nothing that this check could judge; the reason is shown."""


class CouldNotRun(Exception):  # noqa: N818  # an outcome, not an error
    """Something that the check needs is missing on this machine; the reason is shown. It is never a pass."""


@contextlib.contextmanager
def about(what: str) -> Iterator[None]:
    """Name the example, or the row of a table, that a violation inside the block is about."""
    try:
        yield
    except Violation as violation:
        raise Violation(
            expected=violation.expected, happened=f"with {what}, {violation.happened}", hint=violation.hint
        ) from violation.__cause__
