"""Small checks of the tests' own, so that tests of the runner depend on no check of the kit."""

from __future__ import annotations

import asyncio

from treelang_conformance.cases.transport import Case
from treelang_conformance.clauses import WIRING
from treelang_conformance.neutral import Answer, Failure
from treelang_conformance.provider.script import Reply, Stall
from treelang_conformance.registry import Check, CheckFunction, Mode
from treelang_conformance.violation import CouldNotRun, Violation


def as_check(
    function: CheckFunction,
    clause: str = "CMP-1",
    *,
    mode: Mode | None = None,
    parameter: tuple[str, object] | None = None,
    requires: frozenset[str] = frozenset(),
    hint: str = "",
) -> Check:
    """A check that is registered nowhere."""
    return Check(clause, function.__name__.replace("_", "-"), mode, parameter, function, requires, hint)


async def brings_the_text_back(case: Case) -> None:
    """The text of the answer is what the call gives."""
    case.answers(Answer.of("Sequoia ", "sempervirens"))
    case.require_text(await case.call(), "Sequoia sempervirens")


async def finds_a_violation(case: Case) -> None:
    """This never holds."""
    case.answers(Answer.of("an oak"))
    await case.call()
    case.require(False, expected="a birch", happened="an oak came")


async def does_not_apply(case: Case) -> None:
    """This wire has nothing to judge."""
    case.not_applicable("the wire has no such thing")


async def lacks_something(_case: Case) -> None:
    """This machine lacks what the check needs."""
    raise CouldNotRun("no TLS library is installed")


async def is_itself_broken(case: Case) -> None:
    """This check uses the kit wrongly: a wire's failures are not answers."""
    case.wire.completion(Failure(500))  # type: ignore[arg-type]  # the defect


async def waits_for_ever(case: Case) -> None:
    """The provider never answers, and the subject waits."""
    case.provider.reply(Reply(before=(Stall(),)))
    await case.call()


async def raises_in_a_group(_case: Case) -> None:
    """A violation found in a task group."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_violate())


async def _violate() -> None:
    raise Violation(expected="nothing of the kind", happened="it came")


WIRED = as_check(brings_the_text_back, WIRING)
