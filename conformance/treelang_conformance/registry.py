"""Checks as data: functions marked with the clause that they prove, found by family and by id."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from treelang_conformance.clauses import clauses


class SuiteName(StrEnum):
    """What kind of subject a check is for, and in which surroundings it puts it."""

    TRANSPORT = "transport"
    """A transport, called directly."""
    FALLBACK = "fallback"
    """A transport under the reference arborist: what is asked for, and what follows a failure."""
    NEGOTIATOR = "negotiator"
    """A negotiator of capabilities, over transports that count requests."""
    TOOLS = "tools"
    """A provider of tools that the kit describes and hosts."""

    @property
    def has_wire(self) -> bool:
        """Whether its subjects are transports, which speak a protocol."""
        return self in (SuiteName.TRANSPORT, SuiteName.FALLBACK)


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
        suite: What kind of subject it is for.
    """

    clause: str
    name: str
    mode: Mode | None
    parameter: tuple[str, Any] | None
    function: CheckFunction
    requires: frozenset[str]
    hint: str
    suite: SuiteName = SuiteName.TRANSPORT

    @property
    def id(self) -> str:
        """The lasting id, for instance `ERR-8/retry-after-is-read[stream-http-date]`."""
        variant = "-".join(part for part in (self.mode, self.parameter and self.parameter[0]) if part)
        return f"{self.clause}/{self.name}" + (f"[{variant}]" if variant else "")

    @property
    def names(self) -> frozenset[str]:
        """What it can be named by: its family, its clause, the check, and its own id."""
        return frozenset({self.clause.partition("-")[0], self.clause, f"{self.clause}/{self.name}", self.id})

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
    suite: SuiteName = SuiteName.TRANSPORT,
) -> Callable[[CheckFunction], CheckFunction]:
    """Register the decorated function as a check of `clause`.

    Args:
        clause: Id of the clause that the check proves.
        modes: The modes it runs in, one instance each; none for a check that makes its own calls.
        over: A table, name to value; one instance a row, the value passed as the second argument.
        requires: `usage` or `capabilities` where the check is only for transports that offer them.
        hint: The usual cause of a failure, in one sentence.
        suite: What kind of subject it is for.
    """

    def register(function: CheckFunction) -> CheckFunction:
        name = function.__name__.replace("_", "-")
        rows = list(over.items()) if over is not None else [None]
        for mode, row in itertools.product(modes or (None,), rows):
            _checks.append(Check(clause, name, mode, row, function, frozenset(requires), hint, suite))
        return function

    return register


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import every module of a package of checks, which registers them."""
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")


@functools.cache
def all_checks(suite: SuiteName = SuiteName.TRANSPORT) -> tuple[Check, ...]:
    """Every check of a suite, the wiring check first, then in the contract's order."""
    importlib.import_module(f"treelang_conformance.checks.{suite}")  # which registers them
    order = {clause.id: number for number, clause in enumerate(clauses())}
    found = (check for check in _checks if check.suite is suite)
    return tuple(sorted(found, key=lambda check: order.get(check.clause, -1)))


def wiring_check(suite: SuiteName = SuiteName.TRANSPORT) -> Check:
    """The check of the set-up itself, without which no other of the suite means anything."""
    return all_checks(suite)[0]


def judging_checks(suite: SuiteName = SuiteName.TRANSPORT) -> tuple[Check, ...]:
    """Every check of a clause in a suite, in the contract's order."""
    return all_checks(suite)[1:]


def suites_of(identifier: str) -> list[SuiteName]:
    """The suites in which a family, a clause or a check occurs."""
    return list(dict.fromkeys(check.suite for check in every_check() if identifier in check.names))


def every_check() -> tuple[Check, ...]:
    """The checks of all suites, suite by suite."""
    return tuple(check for suite in SuiteName for check in all_checks(suite))
