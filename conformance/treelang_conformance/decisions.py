"""The decision table of the fallback as data: situations, policies, and what is due, read from `fallback.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, TypeAlias, get_args

from treelang_conformance.registry import Mode

Policy: TypeAlias = Literal["auto", "required", "compatibility"]
"""What an arborist is configured with: `structured_output_mode`."""

Output: TypeAlias = Literal["strict", "json"]
"""What a request asks for."""

Declaration: TypeAlias = Literal["strict", "no-strict", "nothing"]
"""What a transport says of the model."""

POLICIES: tuple[Policy, ...] = get_args(Policy)

ANSWER = "answer"
"""The end of an evaluation that brings a program."""

ANOTHER_FAILURE = "another failure"
"""The end in any error of a model transport or of its answer that is no rejection of strict output."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One cell of the table: what is due in a situation under a policy.

    Attributes:
        clause: What it proves.
        requests: What is asked for, one entry a request, in order.
        ends: `answer`, `another failure`, or the name of the error that leaves the evaluation.
    """

    clause: str
    requests: tuple[Output, ...]
    ends: str

    def __str__(self) -> str:
        """The cell in one line, without its clause."""
        return f"{' → '.join(self.requests) or 'no request'}: {self.ends}"


@dataclass(frozen=True, slots=True)
class Situation:
    """One row of the table.

    Attributes:
        id: Its lasting name, in the ids of checks.
        text: What happens.
        calls: How the transport is called.
        declares: What the transport says of the model.
        retries: How many validation retries are configured.
        decisions: What is due, by policy; a policy that cannot come into the situation is missing.
    """

    id: str
    text: str
    calls: tuple[Mode, ...]
    declares: Declaration
    retries: int
    decisions: dict[Policy, Decision]


@functools.cache
def situations() -> tuple[Situation, ...]:
    """All rows, in the order of the file."""
    text = resources.files("treelang_conformance").joinpath("contract", "fallback.toml").read_text(encoding="utf-8")
    return tuple(map(_situation, tomllib.loads(text)["situations"]))


def _situation(row: dict[str, Any]) -> Situation:
    return Situation(
        id=row["id"],
        text=row["text"],
        calls=tuple(map(Mode, row.get("calls", ["complete"]))),
        declares=row.get("declares", "strict"),
        retries=row.get("retries", 2),
        decisions={
            policy: Decision(cell["clause"], tuple(cell["requests"]), cell["ends"])
            for policy in POLICIES
            if (cell := row.get(policy)) is not None
        },
    )


def cells(clause: str, mode: Mode) -> Iterator[tuple[Situation, Policy]]:
    """The cells that prove a clause and are called in a mode."""
    for situation in situations():
        for policy, decision in situation.decisions.items():
            if decision.clause == clause and mode in situation.calls:
                yield situation, policy


REFRESH = "treelang conformance decisions --markdown > docs/fallback.md"
"""The command that renews the page in the repository."""


def decision_page() -> str:
    """The table as a page of Markdown."""
    introduction = resources.files("treelang_conformance").joinpath("contract", "fallback.md")
    lines = [
        f"<!-- Generated from the decision table's data; renew it with: {REFRESH} -->\n",
        introduction.read_text(encoding="utf-8"),
        "| Situation | `auto` | `required` | `compatibility` |",
        "| --- | --- | --- | --- |",
    ]
    for situation in situations():
        row = [f"**{situation.id}**: {situation.text}", *(_cell(situation, policy) for policy in POLICIES)]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _cell(situation: Situation, policy: Policy) -> str:
    decision = situation.decisions.get(policy)
    return "does not arise" if decision is None else f"{decision} ({decision.clause})"
