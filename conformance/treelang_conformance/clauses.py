"""The contract as data: every clause with its id, level and text, read from `contract/clauses.toml`."""

from __future__ import annotations

import difflib
import functools
import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources

WIRING = "WIRING"
"""What the check of the set-up itself is registered under: it belongs to no clause and runs first."""


class Level(StrEnum):
    """How binding a clause is (RFC 2119)."""

    MUST = "MUST"
    SHOULD = "SHOULD"


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence of the contract that can be tested from outside."""

    id: str
    level: Level
    family: str
    text: str


@dataclass(frozen=True, slots=True)
class Family:
    """The clauses about one matter; `id` is the beginning of their ids."""

    id: str
    title: str
    clauses: tuple[Clause, ...]


class UnknownClauseError(LookupError):
    """No clause, family or check has this id; the message names the nearest that exists."""


@functools.cache
def _contract_text() -> str:
    return resources.files("treelang_conformance").joinpath("contract", "clauses.toml").read_text(encoding="utf-8")


@functools.cache
def contract_digest() -> str:
    """SHA-256 of the contract's data, by which a report says which text of the contract it is about."""
    return hashlib.sha256(_contract_text().encode()).hexdigest()


@functools.cache
def families() -> tuple[Family, ...]:
    """All families in the contract's order."""
    return tuple(
        Family(
            family["id"],
            family["title"],
            tuple(
                Clause(clause["id"], Level(clause["level"]), family["id"], clause["text"])
                for clause in family["clauses"]
            ),
        )
        for family in tomllib.loads(_contract_text())["families"]
    )


@functools.cache
def clauses() -> tuple[Clause, ...]:
    """All clauses in the contract's order."""
    return tuple(clause for family in families() for clause in family.clauses)


def find_clause(identifier: str) -> Clause:
    """Return the clause with this id.

    Raises:
        UnknownClauseError: There is none; the message names the nearest.
    """
    by_id = {clause.id: clause for clause in clauses()}
    if identifier not in by_id:
        raise UnknownClauseError(unknown("clause", identifier, by_id))
    return by_id[identifier]


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """A message for a name that does not exist, with the nearest one that does."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5) or difflib.get_close_matches(
        name.upper(), names, n=1, cutoff=0.5
    )
    return f"unknown {kind} {name!r}" + (f"; did you mean {near[0]}?" if near else "")
