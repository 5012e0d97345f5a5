"""CMP-2, CMP-9 to CMP-11: one request a call, and calls beside each other, after each other, beside other tasks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from treelang import ModelTransport
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._vocabulary import (
    ANSWER,
    FAILURES,
    SHORT_TIMEOUT,
    Withholding,
    halved,
    held,
    opened,
    reply_to,
)
from treelang_conformance.neutral import Answer, Failure
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import Gate, Reply, Script, Stall
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import about


@check("CMP-2", modes=BOTH, hint="Build the SDK's client so that it does not retry, and keep no cache of answers.")
async def a_call_makes_one_request(case: Case) -> None:
    """A call that is answered makes exactly one HTTP request, also when it repeats an earlier one word for word."""
    for calls, answer in enumerate((ANSWER, Answer.of("An oak.")), 1):
        case.answers(answer)
        case.require_text(await case.call(), answer.text)
        _require_requests(case, calls)


_AT_ONCE = {"retry-after-ms": "1", "x-should-retry": "true"}
"""A provider's invitation to retry at once: who retries at all does it now, and not after a back-off."""


@check(
    "CMP-2",
    modes=BOTH,
    hint="The SDK's client retries by default, and more so when the provider asks for it: build it with no retries.",
)
async def an_invitation_to_retry_is_left_to_the_caller(case: Case) -> None:
    """A failing status that comes with an invitation to retry makes exactly one HTTP request all the same."""
    statuses = (408, 409, 429, 500, 503, 529)
    for number, status in enumerate(statuses, 1):
        case.provider.answer_by(_always(case.wire.error(Failure(status, headers=_AT_ONCE))))
        with about(f"status {status}"):
            await case.call()
            _require_requests(case, number)


@check(
    "CMP-2",
    modes=BOTH,
    hint="The SDK's client retries by default: build it with no retries, also for timeouts and lost connections.",
)
async def a_failed_call_makes_one_request(case: Case) -> None:
    """A call that fails, in whatever way, makes exactly one HTTP request."""
    transport = await case.transport()
    for name, failure in FAILURES.items():
        with about(f"the failure {name!r}"):
            await _require_one_request_for(case, failure(case), transport)


@check("CMP-2", modes=BOTH, hint="A timeout tells nothing about what the provider did: asking again may bill twice.")
async def a_call_that_timed_out_makes_one_request(case: Case) -> None:
    """A call whose answer did not come in time makes exactly one HTTP request."""
    await _require_one_request_for(case, Reply(before=(Stall(),)), await case.transport(timeout=SHORT_TIMEOUT))


async def _require_one_request_for(case: Case, failure: Answer | Script, transport: ModelTransport) -> None:
    sent = len(case.provider.requests)
    case.provider.answer_by(_always(reply_to(case, failure) if isinstance(failure, Answer) else failure))
    outcome = await case.call(transport=transport)
    case.require(outcome.error, expected="the failure of the only request to be raised", happened=str(outcome))
    _require_requests(case, 1, since=sent)


def _always(reply: Script) -> Callable[[RecordedRequest], Script]:
    return lambda _: reply


def _require_requests(case: Case, calls: int, *, since: int = 0) -> None:
    sent = len(case.provider.requests) - since
    case.require(
        sent == calls,
        expected="exactly one HTTP request a call",
        happened=f"the provider received {sent} for {calls} call(s)",
    )


@check(
    "CMP-9",
    modes=BOTH,
    hint="Keep everything that belongs to a call in local variables, nothing of it on the transport.",
)
async def overlapping_calls_keep_their_answers(case: Case) -> None:
    """Two calls whose answers arrive inside each other each get their own text."""
    headers, body = Gate("the first answer's headers"), Gate("the second half of the first answer's body")
    first, second = Answer.of("The first ", "answer."), Answer.of("The second ", "one.")
    case.answers(held(halved(reply_to(case, first), body), headers), second, second)
    calling = asyncio.create_task(case.call())
    await case.within(headers.reached(), "the first request")
    case.require_text(await case.call(), second.text)
    headers.open()
    await case.within(body.reached(), "the first half of the first answer")
    case.require_text(await case.call(), second.text)
    body.open()
    case.require_text(await calling, first.text)


@check("CMP-9", modes=BOTH, hint="Keep everything that belongs to a call in local variables, nothing on the transport.")
async def twenty_calls_at_once_keep_their_answers(case: Case) -> None:
    """Twenty concurrent calls each get the answer to their own request."""

    def answer_to(question: str) -> Answer:
        return Answer.of(*f"The answer to {question}".partition(" to "))

    def echo(request: RecordedRequest) -> Script:
        return reply_to(case, answer_to(case.wire.read(request).turns[-1].text))

    case.provider.answer_by(echo)
    questions = [f"question {number}" + "?" * number for number in range(20)]
    requests = [case.request(messages=[{"role": "user", "content": question}]) for question in questions]
    outcomes = await asyncio.gather(*(case.call(request) for request in requests))
    for question, outcome in zip(questions, outcomes, strict=True):
        case.require_text(outcome, answer_to(question).text)


@check(
    "CMP-10",
    modes=BOTH,
    hint="Release the connection and clear the call's state on every way out, good or bad.",
)
async def the_next_call_is_served_after_each_failure(case: Case) -> None:
    """After each call that failed, in one way after another, the same transport serves the next one."""
    for name, failure in FAILURES.items():
        case.answers(failure(case), ANSWER)
        with about(f"the failure {name!r}"):
            failed = await case.call()
            case.require(failed.error, expected="the call to fail", happened=str(failed))
        with about(f"a call after the failure {name!r}"):
            case.require_text(await case.call(), ANSWER.text)


@check("CMP-10", modes=BOTH, hint="A client that timed out must not keep the connection or a lock.")
async def the_next_call_is_served_after_a_timeout(case: Case) -> None:
    """After a call that ran into the client's own timeout the same transport serves the next one."""
    transport = await case.transport(timeout=SHORT_TIMEOUT)
    case.answers(Reply(before=(Stall(),)), ANSWER)
    failed = await case.call(transport=transport)
    case.require(failed.error, expected="the call to fail", happened=str(failed))
    case.require_text(await case.call(transport=transport), ANSWER.text)


@check("CMP-10", modes=BOTH, hint="Release locks and connections in a finally or with an async with.")
async def the_next_call_is_served_after_a_cancelled_one(case: Case) -> None:
    """After a call that was cancelled half-way through its answer the same transport serves the next one."""
    gate = Gate("the second half of the answer")
    case.answers(halved(reply_to(case, ANSWER), gate), ANSWER)
    calling = asyncio.create_task(case.invoke())
    await case.within(gate.reached(), "the first half of the answer")
    calling.cancel()
    await case.within(asyncio.wait([calling]), "the end of the cancelled call")
    case.require_text(await case.call(), ANSWER.text)


_ABANDONED = 12


@check("CMP-10", modes=(Mode.STREAM,), hint="Hold the response in an async with inside the generator.")
async def the_next_call_is_served_after_abandoned_streams(case: Case) -> None:
    """After twelve streams that were each closed at their first chunk the same transport serves the next call."""
    for _ in range(_ABANDONED):
        case.answers(halved(reply_to(case, ANSWER), Gate("an end that never comes")))
        async with opened(case) as chunks:
            await case.within(anext(chunks), "the first chunk")
    case.answers(ANSWER)
    case.require_text(await case.call(), ANSWER.text)


_BLOCKED_SECONDS = 0.7
"""How long the provider withholds its answer from a transport that keeps the event loop from running."""


@check(
    "CMP-11",
    modes=BOTH,
    over={"headers": held, "body": halved},
    hint="Use an asynchronous HTTP client, or run a blocking one in a thread.",
)
async def other_tasks_run_while_the_provider_thinks(case: Case, withheld: Withholding) -> None:
    """While a call waits for the provider, other tasks of the event loop go on.

    How long a transport computes between two turns, over a large answer for instance, is not judged: a bound that a
    busy machine keeps would let everything pass, and what decoding must cost is different for every body.
    """
    gate = Gate("the rest of the answer")
    case.answers(withheld(reply_to(case, ANSWER), gate))
    transport = await case.transport()
    watchdog = threading.Timer(_BLOCKED_SECONDS, gate.open)
    watchdog.start()
    calling = asyncio.create_task(case.call(transport=transport))
    try:
        await case.within(gate.reached(), "the call to get as far as the provider")
        ran = watchdog.is_alive()
    finally:
        watchdog.cancel()
    gate.open()
    case.require_text(await calling, ANSWER.text)
    case.require(ran, expected="other tasks to run during the call", happened="none ran until the call had ended")
