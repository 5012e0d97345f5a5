"""Examples made by hypothesis for checks: bounded, always the same ones, and shrunk where one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from treelang_conformance.checks._vocabulary import about
from treelang_conformance.violation import Violation

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

_EXAMPLE_SECONDS = 2.0
"""How long one example may take, so that none of them outlives its check."""


def numbers(bits: int) -> SearchStrategy[int]:
    """Whole numbers of so many bits.

    Made of booleans, because among numbers and texts of its own hypothesis mixes constants from the source of the
    project that it runs in: it reads all of it, writes into the current folder, and finds others in every project.
    """
    from hypothesis import strategies

    digits = strategies.lists(strategies.booleans(), min_size=bits, max_size=bits)
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


async def for_examples(examples: SearchStrategy[T], judge: Callable[[T], Awaitable[None]], *, at_most: int) -> None:
    """Judge up to `at_most` examples, each in a task of its own; a violation names the smallest one that was found.

    Hypothesis is synchronous, so it runs in a thread, while the examples run in the event loop of the check.
    """
    import hypothesis  # here, because it takes longer to import than all checks together

    loop = asyncio.get_running_loop()

    async def judged(example: T) -> Violation | None:
        try:
            with about(f"the example {example!r}"):
                await judge(example)
        except Violation as violation:
            return violation
        return None

    def examine(example: T) -> None:
        violation = asyncio.run_coroutine_threadsafe(judged(example), loop).result(_EXAMPLE_SECONDS)
        if violation is not None:
            raise violation

    settings = hypothesis.settings(
        max_examples=at_most,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    await asyncio.to_thread(settings(hypothesis.given(examples)(examine)))
