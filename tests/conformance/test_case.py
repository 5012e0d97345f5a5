"""What a check is given: requests, the transport, calls as outcomes, judgements in words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.conformance.support import checks, plain
from treelang import ModelRequest, ModelTransport, ModelUsage
from treelang_conformance import canaries
from treelang_conformance.cases.transport import Case
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.execution import Executor
from treelang_conformance.neutral import Answer, Usage
from treelang_conformance.provider.script import Gate, Reply, Send, Wait
from treelang_conformance.registry import Mode
from treelang_conformance.report import CheckOutcome, CheckResult
from treelang_conformance.subject import Subject
from treelang_conformance.wires.discovery import find_wire


def check_passes(
    function: Callable[[Case], Awaitable[None]],
    make: Callable[[Endpoint], ModelTransport | Awaitable[ModelTransport]] = plain.make,
    mode: Mode | None = None,
) -> CheckResult:
    """Run a check and require that it passes; the asserts inside it are the test."""
    result = Executor(Subject(make), find_wire("openai-chat")).run(checks.as_check(function, mode=mode))
    assert result.outcome is CheckOutcome.PASSED, result
    return result


def violation_of(function: Callable[[Case], Awaitable[None]], *, patience: float = 1.0) -> tuple[str, str]:
    """Run a check that must find a violation, and return what was expected and what happened."""
    result = Executor(Subject(plain.make), find_wire("openai-chat"), patience).run(checks.as_check(function))
    assert result.failure is not None, result
    return result.failure.expected, result.failure.happened


def test_the_default_request_holds_the_canaries_and_takes_changes() -> None:
    async def body(case: Case) -> None:
        system, user = (message["content"] for message in case.request()["messages"])
        assert (canaries.SYSTEM_TEXT in system, canaries.USER_TEXT in user) == (True, True)
        assert case.request(temperature=0.5)["temperature"] == 0.5
        assert canaries.SCHEMA_TEXT in str(case.strict_request()["response_format"])

    check_passes(body)


def test_the_endpoint_is_this_case_s_provider_with_the_canary_key() -> None:
    seen: list[Endpoint] = []

    def make(endpoint: Endpoint) -> ModelTransport:
        seen.append(endpoint)
        return plain.make(endpoint)

    async def body(case: Case) -> None:
        await case.transport()
        assert seen == [Endpoint(f"{case.provider.url}/v1", canaries.API_KEY, 5.0, "openai-chat", case.wire.model)]

    check_passes(body, make)


def test_the_transport_stays_the_same_unless_another_is_asked_for() -> None:
    async def body(case: Case) -> None:
        first = await case.transport()
        assert await case.transport() is first
        assert await case.transport(fresh=True) is not first
        assert await case.transport(timeout=0.2) is not first

    check_passes(body)


def test_a_factory_may_be_asynchronous() -> None:
    async def make(endpoint: Endpoint) -> ModelTransport:
        await asyncio.sleep(0)
        return plain.make(endpoint)

    check_passes(checks.brings_the_text_back, make)


@pytest.mark.parametrize(("mode", "chunks"), [(Mode.COMPLETE, ("an oak",)), (Mode.STREAM, ("an ", "oak"))])
def test_an_answer_takes_the_form_of_the_mode(mode: Mode, chunks: tuple[str, ...]) -> None:
    async def body(case: Case) -> None:
        case.answers(Answer.of("an ", "oak"))
        outcome = await case.call()
        assert (outcome.chunks, outcome.text, outcome.error) == (chunks, "an oak", None)
        assert case.read().stream is (mode is Mode.STREAM)

    check_passes(body, mode=mode)


def test_the_outcome_holds_the_usage_of_the_call() -> None:
    async def body(case: Case) -> None:
        case.answers(Answer.of("an oak", usage=Usage(3, 4)))
        assert (await case.call()).usage == ModelUsage(3, 4)

    check_passes(body)


class Raising(plain.PlainChatTransport):
    """Raises what is no `Exception` after a first chunk."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        yield "an "
        raise asyncio.CancelledError("felled")


def test_whatever_the_subject_raises_is_in_the_outcome_with_what_came_before() -> None:
    async def body(case: Case) -> None:
        outcome = await case.call()
        assert outcome.chunks == ("an ",)
        assert isinstance(outcome.error, asyncio.CancelledError)

    check_passes(body, lambda endpoint: Raising(endpoint.url, endpoint.api_key, endpoint.timeout), Mode.STREAM)


def test_an_invoked_call_lets_its_exception_out() -> None:
    async def body(case: Case) -> None:
        with pytest.raises(asyncio.CancelledError, match="felled"):
            await case.invoke()

    check_passes(body, lambda endpoint: Raising(endpoint.url, endpoint.api_key, endpoint.timeout), Mode.STREAM)


def test_an_invoked_call_shows_its_chunks_as_they_arrive() -> None:
    async def body(case: Case) -> None:
        gate = Gate()
        first, *rest = case.wire.events(Answer.of("an oak"))
        case.provider.reply(Reply.event_stream(Send(first.data), Wait(gate), *(Send(event.data) for event in rest)))
        chunks: list[str] = []
        call = asyncio.create_task(case.invoke(into=chunks))
        await case.within(gate.reached(), "the gate")
        assert chunks == []
        gate.open()
        await case.within(call, "the end")
        assert chunks == ["an oak"]

    check_passes(body, mode=Mode.STREAM)


def test_a_request_that_never_came_is_a_violation() -> None:
    async def body(case: Case) -> None:
        case.read()

    assert violation_of(body) == ("a request at the provider", "it received 0")


def test_another_text_is_a_violation_that_quotes_it() -> None:
    async def body(case: Case) -> None:
        case.answers(Answer.of("an oak"))
        case.require_text(await case.call(), "a birch")

    assert violation_of(body) == ("the text 'a birch'", "the call ended normally with the text 'an oak'")


def test_a_missing_error_is_a_violation() -> None:
    async def body(case: Case) -> None:
        case.answers(Answer.of("an oak"))
        case.require_error(await case.call(), ConnectionError)

    assert violation_of(body) == ("ConnectionError", "the call ended normally with ('an oak',)")


def test_a_more_specific_error_is_a_violation_where_the_kind_is_exact() -> None:
    async def body(case: Case) -> None:
        case.provider.reply(Reply(status=401))
        outcome = await case.call()
        case.require_error(outcome, RuntimeError)
        case.require_error(outcome, RuntimeError, exactly=True)

    expected, happened = violation_of(body)
    assert expected == "exactly RuntimeError"
    assert happened.startswith("the call raised treelang.errors.ModelAuthenticationError (caused by httpx2.")


def test_what_comes_too_late_is_a_violation_that_says_what() -> None:
    async def body(case: Case) -> None:
        await case.within(Gate().reached(), "the gate to be reached", seconds=0.5)

    assert violation_of(body, patience=0.1) == ("the gate to be reached within 0.05 s", "it did not happen")


def test_a_timeout_of_what_is_awaited_is_not_taken_for_lateness() -> None:
    async def fails() -> None:
        raise TimeoutError("its own")

    async def body(case: Case) -> None:
        with pytest.raises(TimeoutError, match="its own"):
            await case.within(fails(), "nothing")

    check_passes(body)
