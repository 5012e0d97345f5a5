"""Examples made by hypothesis for checks: bounded, the same ones for the same seed, and shrunk where one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from treelang_conformance.cases.judge import Judge
from treelang_conformance.violation import Violation, about

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

_EXAMPLE_SECONDS = 2.0
"""How long one example may take, so that none of them outlives its check."""

_SHRINKING_EXAMPLES = 100
"""How many more examples are judged once one has failed, to find a smaller one: a number, so that a replay agrees."""


class _SmallEnough(BaseException):
    """Ends the search for a smaller example; no `Exception`, which hypothesis would take for a failing example."""


def numbers(bits: int) -> SearchStrategy[int]:
    """Whole numbers of so many bits.

    Made of booleans, because among numbers and texts of its own hypothesis mixes constants from the source of the
    project that it runs in: it reads all of it, writes into the current folder, and finds others in every project.
    """
    from hypothesis import strategies

    digits = strategies.tuples(*[strategies.booleans()] * bits)
    return digits.map(lambda drawn: sum(digit << place for place, digit in enumerate(drawn)))


_ODD_CHARACTERS = (
    "\x00\x07\t\n\x0b\x0c\r\x1b\x1c\x7f\x85\xa0\xad\xe9\u0301\u0308\u05e2\u0634\u1112\u1161\u200d\u2028\u2029\u202e"
    "\u3000\u6728\ufe0f\ufeff\uffff\U0001f332\U0001d531\U000e0001\U0010ffff"
)
_ALPHABET = "".join(map(chr, range(0x20, 0x7F))) + _ODD_CHARACTERS


def texts(*, least: int = 0, most: int) -> SearchStrategy[str]:
    """Texts of printable ASCII and of characters that have caught somebody out."""
    from hypothesis import strategies

    characters = numbers(7).map(lambda number: _ALPHABET[number % len(_ALPHABET)])
    return strategies.lists(characters, min_size=least, max_size=most).map("".join)


async def for_examples(
    case: Judge, examples: SearchStrategy[T], judge: Callable[[T], Awaitable[None]], *, at_most: int
) -> None:
    """Judge up to `at_most` examples, each in a task of its own; a violation names the smallest that was found.

    The seed of the case decides about the examples, and the violation names it too, so that they can be had again.

    Hypothesis is synchronous, so it runs in a thread, while the examples run in the event loop of the check.
    """
    import hypothesis  # here, because it takes longer to import than all checks together

    loop = asyncio.get_running_loop()

    async def judged(example: T) -> Violation | None:
        try:
            with about(f"the example {example!r} (of --seed {case.seed})"):
                await judge(example)
        except Violation as violation:
            return violation
        return None

    found: Violation | None = None
    more = _SHRINKING_EXAMPLES

    def examine(example: T) -> None:
        nonlocal found, more
        if found is not None:
            more -= 1
            if more < 0:
                raise _SmallEnough
        violation = asyncio.run_coroutine_threadsafe(judged(example), loop).result(_EXAMPLE_SECONDS)
        if violation is not None:
            found = violation  # each one is smaller than the one before
            raise violation

    settings = hypothesis.settings(
        max_examples=at_most,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),  # explaining traces every line, which is slow
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    seeded = hypothesis.seed(case.seed)(hypothesis.given(examples)(examine))
    try:
        await asyncio.to_thread(settings(seeded))
    except _SmallEnough:
        assert found is not None  # noqa: S101  # told to the type checker
        raise found from None
