"""One check: how its end becomes a result, what bounds it, and what it leaves to the next."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable

import pytest

from tests.conformance.support import checks, plain
from treelang import ModelRequest, ModelTransportError
from treelang_conformance import canaries
from treelang_conformance.cases.transport import Case
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.execution import Executor
from treelang_conformance.neutral import Answer
from treelang_conformance.registry import Check, CheckFunction, Mode, wiring_check
from treelang_conformance.report import CheckOutcome, CheckResult
from treelang_conformance.subject import Subject
from treelang_conformance.wires.discovery import find_wire

QUICK = 0.1
"""Patience for checks that hang, so that the tests do not."""


def executed(check: Check, subject: Subject | None = None, *, patience: float = 1.0) -> CheckResult:
    return Executor(subject or Subject(plain.make), find_wire("openai-chat"), patience).run(check)


@pytest.mark.parametrize(
    ("function", "outcome"),
    [
        (checks.brings_the_text_back, CheckOutcome.PASSED),
        (checks.finds_a_violation, CheckOutcome.FAILED),
        (checks.raises_in_a_group, CheckOutcome.FAILED),
        (checks.does_not_apply, CheckOutcome.NOT_APPLICABLE),
        (checks.lacks_something, CheckOutcome.COULD_NOT_RUN),
        (checks.is_itself_broken, CheckOutcome.KIT_ERROR),
    ],
)
def test_the_end_of_a_check_decides_its_outcome(function: CheckFunction, outcome: CheckOutcome) -> None:
    assert executed(checks.as_check(function)).outcome is outcome


def test_a_failure_holds_what_there_is_to_learn() -> None:
    failure = executed(checks.as_check(checks.finds_a_violation, hint="Ask for a birch.")).failure
    assert failure is not None
    assert (failure.expected, failure.happened, failure.hint) == ("a birch", "an oak came", "Ask for a birch.")
    assert "> POST /v1/chat/completions" in failure.exchange
    assert "an oak" in failure.exchange


def test_the_key_is_in_no_exchange() -> None:
    async def echoes_the_key(case: Case) -> None:
        case.answers(Answer.of(canaries.API_KEY))
        await case.call()
        case.require(False, expected="a failure", happened="none")

    failure = executed(checks.as_check(echoes_the_key)).failure
    assert failure is not None
    assert canaries.API_KEY not in failure.exchange
    assert "***" in failure.exchange


def test_a_failure_may_quote_what_no_file_takes() -> None:
    async def quotes_half_a_character(case: Case) -> None:
        case.require(False, expected="a tree", happened="\ud83c came")

    failure = executed(checks.as_check(quotes_half_a_character)).failure
    assert failure is not None
    assert failure.happened == r"\ud83c came"


def test_a_parameter_is_passed_as_the_second_argument() -> None:
    async def takes_a_row(case: Case, row: str) -> None:
        case.require(row == "oak", expected="the row", happened=repr(row))

    assert executed(checks.as_check(takes_a_row, parameter=("tree", "oak"))).outcome is CheckOutcome.PASSED


def test_a_feature_that_the_transport_lacks_makes_a_check_not_applicable() -> None:
    result = executed(checks.as_check(checks.finds_a_violation, requires=frozenset({"capabilities"})))
    assert (result.outcome, result.reason) == (CheckOutcome.NOT_APPLICABLE, "the transport has no capabilities()")


def test_a_declared_feature_that_the_transport_lacks_is_a_violation() -> None:
    subject = Subject(plain.make, features=frozenset({"usage", "capabilities"}))
    result = executed(checks.as_check(checks.brings_the_text_back, requires=frozenset({"capabilities"})), subject)
    assert result.outcome is CheckOutcome.FAILED


class Odd(plain.PlainChatTransport):
    """The plain transport with one call exchanged."""

    def __init__(self, endpoint: Endpoint, complete: Callable[[], object]) -> None:
        super().__init__(endpoint.url, endpoint.api_key, endpoint.timeout)
        self._complete = complete

    async def complete(self, request: ModelRequest) -> str:
        self._complete()
        return await super().complete(request)


def test_an_exception_that_the_subject_lets_out_is_its_violation() -> None:
    def raises() -> None:
        raise LookupError("not the kit's")

    async def lets_it_pass(case: Case) -> None:
        await case.invoke()

    result = executed(checks.as_check(lets_it_pass), Subject(lambda endpoint: Odd(endpoint, raises)))
    assert result.outcome is CheckOutcome.FAILED
    assert result.failure is not None
    assert "it raised LookupError at test_execution.py:" in result.failure.happened


def test_a_hang_is_a_violation_that_says_where_the_subject_waits() -> None:
    result = executed(checks.as_check(checks.waits_for_ever, mode=Mode.STREAM), patience=QUICK)
    assert result.failure is not None
    assert result.failure.happened.startswith("it hangs at plain.py:")
    assert "(stream), inside " in result.failure.happened


def test_a_place_is_told_without_the_machine_s_folders() -> None:
    result = executed(checks.as_check(checks.waits_for_ever), patience=QUICK)
    assert result.failure is not None
    assert "/" not in result.failure.happened.partition(", inside ")[0]


def test_a_check_that_hangs_outside_a_call_is_ended() -> None:
    async def awaits_nothing(_case: Case) -> None:
        await asyncio.get_running_loop().create_future()

    result = executed(checks.as_check(awaits_nothing), patience=QUICK)
    assert result.failure is not None
    assert result.failure.expected == "the check to end within 0.5 s"


def test_a_call_that_blocks_the_loop_cannot_stop_the_kit() -> None:
    subject = Subject(lambda endpoint: Odd(endpoint, lambda: time.sleep(30)))
    result = executed(checks.as_check(checks.brings_the_text_back), subject, patience=QUICK)
    assert result.failure is not None
    assert "its thread stands at test_execution.py:" in result.failure.happened


def test_a_transport_that_cannot_be_closed_is_a_violation() -> None:
    class Stuck(plain.PlainChatTransport):
        async def aclose(self) -> None:
            await super().aclose()
            raise OSError("the door is stuck")

    subject = Subject(lambda endpoint: Stuck(endpoint.url, endpoint.api_key, endpoint.timeout))
    failure = executed(checks.as_check(checks.brings_the_text_back), subject).failure
    assert failure is not None
    assert failure.happened == "it raised OSError: the door is stuck"


def test_every_transport_that_was_made_is_closed() -> None:
    closed: list[object] = []

    async def makes_two(case: Case) -> None:
        await case.transport()
        await case.transport(timeout=0.5)

    async def close(transport: plain.PlainChatTransport) -> None:
        closed.append(transport)
        await transport.aclose()

    executed(checks.as_check(makes_two), Subject(plain.make, close=close))
    assert len(closed) == 2


class Leaving(plain.PlainChatTransport):
    """Leaves behind what a test tells it to."""

    leftover: Callable[[Leaving], object] = staticmethod(lambda _self: None)
    kept: object = None

    async def complete(self, request: ModelRequest) -> str:
        text = await super().complete(request)
        await asyncio.sleep(0)
        self.kept = type(self).leftover(self)
        return text

    async def numbers(self) -> AsyncIterator[int]:
        yield 1
        yield 2

    async def fail(self) -> None:
        raise OSError("nobody waits for this")


def _begin_a_generator(transport: Leaving) -> object:
    numbers = transport.numbers()
    with pytest.raises(StopIteration):
        numbers.__anext__().send(None)  # type: ignore[attr-defined]  # the step of a generator is an iterator
    return numbers


@pytest.mark.parametrize(
    ("leftover", "told"),
    [
        (lambda self: asyncio.ensure_future(asyncio.sleep(60)), "a task still runs at asyncio/tasks.py"),
        (lambda self: self.numbers() and None, ""),
        (_begin_a_generator, "the generator numbers (test_execution.py:"),
        (lambda self: _begin_a_generator(self) and None, "was left to the garbage collector"),
        (lambda self: self.fail() and None, "RuntimeWarning: coroutine 'Leaving.fail' was never awaited"),
        (lambda self: asyncio.ensure_future(self.fail()) and None, "never retrieved: OSError"),
    ],
    ids=["task", "nothing", "generator", "dropped generator", "coroutine", "failure"],
)
def test_what_is_left_behind_is_told(leftover: Callable[[Leaving], object], told: str) -> None:
    class Subjected(Leaving):
        pass

    Subjected.leftover = staticmethod(leftover)
    found: list[str] = []

    async def looks(case: Case) -> None:
        case.answers(Answer.of("an oak"))
        await case.call()
        leftovers = await case.leftovers()
        found.append(str(leftovers) if leftovers else "")

    subject = Subject(lambda endpoint: Subjected(endpoint.url, endpoint.api_key, endpoint.timeout))
    executed(checks.as_check(looks), subject)
    assert told in found[0]
    assert bool(found[0]) == bool(told)


def test_what_one_check_leaves_is_not_told_of_the_next() -> None:
    class Litter:
        def __init__(self) -> None:
            self.itself = self  # only the collector finds it
            self.coroutine = asyncio.sleep(0)

    async def litters(_case: Case) -> None:
        Litter()

    async def is_tidy(case: Case) -> None:
        leftovers = await case.leftovers()
        case.require(not leftovers, expected="nothing", happened=str(leftovers))

    executed(checks.as_check(litters))
    assert executed(checks.as_check(is_tidy)).outcome is CheckOutcome.PASSED


class Untranslated(plain.PlainChatTransport):
    """Lets its library's exception out."""

    async def complete(self, request: ModelRequest) -> str:
        await super().complete(request)
        raise KeyError("choices")


def test_a_foreign_exception_is_told_with_the_line_that_let_it_out_and_its_own_mend() -> None:
    async def asks_for_a_transport_error(case: Case) -> None:
        case.answers(Answer.of("an oak"))
        case.require_error(await case.call(), ModelTransportError)

    check = checks.as_check(asks_for_a_transport_error, hint="Map the status.")
    subject = Subject(lambda endpoint: Untranslated(endpoint.url, endpoint.api_key, endpoint.timeout))
    failure = executed(check, subject).failure
    assert failure is not None
    assert re.fullmatch(r"the call raised KeyError at test_execution\.py:\d+ \(complete\)", failure.happened)
    assert "ErrorTranslator" in failure.hint


class AwaitedStream(plain.PlainChatTransport):
    """Its `stream` is a coroutine function."""

    async def stream(self, request: ModelRequest) -> list[str]:  # type: ignore[override]  # the fault
        return [await self.complete(request)]


class ListedStream(plain.PlainChatTransport):
    """Its `stream` returns a list."""

    def stream(self, request: ModelRequest) -> list[str]:  # type: ignore[override]  # the fault
        return []


@pytest.mark.parametrize(("broken", "returned"), [(AwaitedStream, "coroutine"), (ListedStream, "list")])
def test_the_wiring_check_finds_a_stream_that_is_none(broken: type[plain.PlainChatTransport], returned: str) -> None:
    subject = Subject(lambda endpoint: broken(endpoint.url, endpoint.api_key, endpoint.timeout))
    failure = executed(wiring_check(), subject).failure
    assert failure is not None
    assert failure.happened == f"it returned a {returned}"
