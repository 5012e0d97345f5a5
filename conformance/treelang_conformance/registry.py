"""Checks as data: functions marked with the clause that they prove, found by family and by id."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from treelang_conformance.clauses import clauses


class Mode(StrEnum):
    """How a check makes its calls."""

    COMPLETE = "complete"
    STREAM = "stream"


BOTH = (Mode.COMPLETE, Mode.STREAM)

CheckFunction: TypeAlias = Callable[..., Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Check:
    """One check instance: a function, the clause it proves, its mode and its parameter.

    Attributes:
        clause: Id of the clause, for instance `ERR-8`.
        name: The function's name with hyphens.
        mode: How calls are made; `None` where the check makes its own kind of calls.
        parameter: Name and value of the row of a table, or `None`.
        function: `async def check(case)` or, with a parameter, `async def check(case, value)`.
        requires: Features a subject must have, else the check is not applicable (`usage`, `capabilities`).
        hint: The usual cause of a failure, shown with it.
    """

    clause: str
    name: str
    mode: Mode | None
    parameter: tuple[str, Any] | None
    function: CheckFunction
    requires: frozenset[str]
    hint: str

    @property
    def id(self) -> str:
        """The lasting id, for instance `ERR-8/retry-after-is-read[stream-http-date]`."""
        variant = "-".join(part for part in (self.mode, self.parameter and self.parameter[0]) if part)
        return f"{self.clause}/{self.name}" + (f"[{variant}]" if variant else "")

    @property
    def description(self) -> str:
        """What the check proves: the first line of its docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]


_checks: list[Check] = []


def check(
    clause: str,
    *,
    modes: Sequence[Mode] = (),
    over: Mapping[str, Any] | None = None,
    requires: Iterable[str] = (),
    hint: str = "",
) -> Callable[[CheckFunction], CheckFunction]:
    """Register the decorated function as a check of `clause`.

    Args:
        clause: Id of the clause that the check proves.
        modes: The modes it runs in, one instance each; none for a check that makes its own calls.
        over: A table, name to value; one instance a row, the value passed as the second argument.
        requires: `usage` or `capabilities` where the check is only for transports that offer them.
        hint: The usual cause of a failure, in one sentence.
    """

    def register(function: CheckFunction) -> CheckFunction:
        name = function.__name__.replace("_", "-")
        rows = list(over.items()) if over is not None else [None]
        for mode, row in itertools.product(modes or (None,), rows):
            _checks.append(Check(clause, name, mode, row, function, frozenset(requires), hint))
        return function

    return register


@functools.cache
def all_checks() -> tuple[Check, ...]:
    """Every check of the kit, the wiring check first, then in the contract's order."""
    importlib.import_module("treelang_conformance.checks")  # which registers them
    order = {clause.id: number for number, clause in enumerate(clauses())}
    return tuple(sorted(_checks, key=lambda check: order.get(check.clause, -1)))


def wiring_check() -> Check:
    """The check of the set-up itself, without which no other means anything."""
    return all_checks()[0]


def judging_checks() -> tuple[Check, ...]:
    """Every check of a clause, in the contract's order."""
    return all_checks()[1:]
