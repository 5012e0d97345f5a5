"""USE-4 to USE-6, USE-9, USE-10, USE-12: whose usage it is, and for how long."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator

from treelang import ModelUsage
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._usage import (
    USAGE,
    leave_usage_behind,
    require_counters,
    require_nothing_reported,
    require_usage,
)
from treelang_conformance.checks.transport._vocabulary import (
    FAILURES,
    SHORT_TIMEOUT,
    events_to_first_text,
    held,
    opened,
    reply_to,
    stream_of,
)
from treelang_conformance.neutral import Answer, Usage
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import Gate, Reply, Script, Stall, Wait
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import about

_CONTEXT_VARIABLE = "Keep usage in a ContextVar that is set when a call begins, not in an attribute of the transport."


@check("USE-4", modes=BOTH, requires=USAGE, hint="Put zero in the place of what is handed out.")
async def consuming_resets(case: Case) -> None:
    """A fresh transport reports zero; what a call reported is handed out once, and then it is zero again."""
    transport = await case.transport()
    require_nothing_reported(case, case.usage(transport))
    case.answers(Answer.of("A redwood.", usage=Usage(11, 7)))
    require_usage(case, await case.call(), Usage(11, 7))
    require_nothing_reported(case, case.usage(transport))


@check(
    "USE-5",
    modes=BOTH,
    requires=USAGE,
    hint="Clear the usage as the first thing that a call does, before the request is even looked at.",
)
async def a_failed_call_clears_what_an_earlier_one_left(case: Case) -> None:
    """After a call that failed without usage, in whatever way, nothing of an earlier call's is left."""
    for name, failure in FAILURES.items():
        await leave_usage_behind(case)
        case.answers(failure(case))
        with about(f"the failure {name!r}"):
            outcome = await case.call()
            case.require(outcome.error, expected="the call to fail", happened=str(outcome))
            require_nothing_reported(case, outcome.usage)


@check(
    "USE-5",
    modes=BOTH,
    requires=USAGE,
    hint="Clear the usage as the first thing that a call does, before the request is even looked at.",
)
async def a_call_refused_unsent_clears_what_an_earlier_one_left(case: Case) -> None:
    """After a call whose request was refused before it was sent, nothing of an earlier call's is left."""
    await leave_usage_behind(case)
    outcome = await case.call(case.request(messages="no list"))
    case.require(outcome.error, expected="the request to be refused", happened=str(outcome))
    require_nothing_reported(case, outcome.usage)


@check("USE-5", modes=BOTH, requires=USAGE, hint="A timeout leaves the call like any other failure.")
async def a_call_that_timed_out_clears_what_an_earlier_one_left(case: Case) -> None:
    """After a call that ran into the client's timeout, nothing of an earlier call's is left."""
    transport = await case.transport(timeout=SHORT_TIMEOUT)
    await leave_usage_behind(case, transport)
    case.answers(Reply(before=(Stall(),)))
    outcome = await case.call(transport=transport)
    case.require(outcome.error, expected="the call to fail", happened=str(outcome))
    require_nothing_reported(case, outcome.usage)


@check("USE-5", modes=BOTH, requires=USAGE, hint="A call without usage has zero usage, not the last one known.")
async def a_good_call_without_usage_clears_what_an_earlier_one_left(case: Case) -> None:
    """After a good call that reported no usage, nothing of an earlier call's is left."""
    await leave_usage_behind(case)
    case.answers(Answer.of("A redwood.", usage=None))
    require_nothing_reported(case, (await case.call()).usage)


@check(
    "USE-5", modes=(Mode.STREAM,), requires=USAGE, hint="A stream begins with its first step: clear the usage there."
)
async def a_stream_clears_at_its_beginning(case: Case) -> None:
    """Once a stream has yielded its first chunk, nothing of an earlier call's is left."""
    await leave_usage_behind(case)
    case.answers(stream_of(events_to_first_text(case, Answer.of("A ", "redwood.")), Stall()))
    async with opened(case) as stream:
        await case.within(anext(stream), "the first chunk")
        _require_not_earlier(case, case.usage(await case.transport()))


def _require_not_earlier(case: Case, got: ModelUsage | None) -> None:
    case.require(
        got is not None and got.prompt_tokens in (0, 11) and got.completion_tokens <= 7,
        expected="what this call had reported so far, or zero",
        happened=f"consume_usage() gave {got}",
        hint="Clear the usage when a call begins, and publish what it reports, as it reports it.",
    )


@check("USE-6", modes=BOTH, requires=USAGE, hint=_CONTEXT_VARIABLE)
async def concurrent_calls_see_their_own_usage(case: Case) -> None:
    """Calls that overlap in different tasks each see their own usage, and their parent sees none."""
    transport = await case.transport()
    count, gate = 8, Gate("all requests to be there")

    def usage_of(question: str) -> Usage:
        return Usage(1000 + int(question), 10 + int(question))

    def answer(request: RecordedRequest) -> Script:
        question = case.wire.read(request).turns[-1].text
        return held(reply_to(case, Answer.of("A ", "redwood.", usage=usage_of(question))), gate)

    case.provider.answer_by(answer)
    questions = [str(number) for number in range(count)]
    calls = [
        asyncio.create_task(case.call(case.request(messages=[{"role": "user", "content": question}])))
        for question in questions
    ]
    await case.within(case.provider.request_received(count), f"{count} requests at once")
    gate.open()
    for question, call in zip(questions, calls, strict=True):
        require_usage(case, await call, usage_of(question))
    require_nothing_reported(case, case.usage(transport))


@check("USE-6", modes=BOTH, requires=USAGE, hint=_CONTEXT_VARIABLE)
async def a_call_elsewhere_leaves_this_tasks_usage_alone(case: Case) -> None:
    """What a task has not yet consumed is neither lost nor changed by a whole call in another task."""
    case.answers(Answer.of("A redwood.", usage=Usage(11, 7)))
    await case.invoke()
    case.answers(Answer.of("An oak.", usage=Usage(23, 29)))
    require_usage(case, await asyncio.create_task(case.call()), Usage(23, 29))
    require_counters(case, case.usage(await case.transport()), Usage(11, 7))


@check("USE-6", modes=BOTH, requires=USAGE, hint=_CONTEXT_VARIABLE)
async def usage_belongs_to_a_context_and_not_to_a_task(case: Case) -> None:
    """A call's usage is found in the context that the call was made in, by whoever runs there, and in no other."""
    transport = await case.transport()
    elsewhere = contextvars.copy_context()
    for usage, context in {Usage(11, 7): elsewhere, Usage(23, 29): contextvars.copy_context()}.items():
        case.answers(Answer.of("A redwood.", usage=usage))
        await asyncio.create_task(case.invoke(), context=context)
    require_nothing_reported(case, case.usage(transport))
    require_counters(case, elsewhere.run(case.usage, transport), Usage(11, 7))


@check(
    "USE-2",
    modes=(Mode.STREAM,),
    requires=USAGE,
    hint="Set the context variable in the generator's own steps: they run in the context of whoever drives them.",
)
async def usage_goes_to_the_context_that_consumed_the_stream(case: Case) -> None:
    """A stream that one task made and another consumes leaves its usage in the one that consumed it."""
    transport = await case.transport()
    case.answers(Answer.of("A ", "redwood.", usage=Usage(11, 7)))
    stream = transport.stream(case.request())
    require_counters(case, await asyncio.create_task(_consumed(case, stream)), Usage(11, 7))
    require_nothing_reported(case, case.usage(transport))


@check(
    "USE-2",
    modes=(Mode.STREAM,),
    requires=USAGE,
    hint="Publish usage at the step that reads it, in the context of that step, not only where the stream began.",
)
async def usage_follows_a_stream_that_changes_hands(case: Case) -> None:
    """A stream that one task begins and another consumes to its end leaves its usage with the latter."""
    transport = await case.transport()
    case.answers(Answer.of("A ", "redwood.", usage=Usage(11, 7)))
    stream = transport.stream(case.request())

    async def begin() -> None:
        await anext(stream)

    await asyncio.create_task(begin())
    require_counters(case, await asyncio.create_task(_consumed(case, stream)), Usage(11, 7))


async def _consumed(case: Case, stream: AsyncIterator[str]) -> ModelUsage | None:
    with case.bounded("the stream"):
        async for _ in stream:
            pass
    return case.usage(await case.transport())


@check(
    "USE-9",
    modes=BOTH,
    requires=USAGE,
    hint="Clear the usage when a call begins; a cancelled call ends nowhere else than in its clean-up.",
)
async def a_cancelled_call_leaves_no_earlier_usage(case: Case) -> None:
    """After a cancelled call its context holds what that call had reported or zero, never an earlier call's."""
    transport = await case.transport()
    gate = Gate("an answer that never comes")

    async def cancelled() -> ModelUsage | None:
        await leave_usage_behind(case)
        case.answers(Reply(before=(Wait(gate),)))
        with contextlib.suppress(asyncio.CancelledError, Exception):  # how it ends is for CAN-1 to judge
            await case.invoke()
        return case.usage(transport)

    task = asyncio.create_task(cancelled())
    await case.within(gate.reached(), "the second request")
    task.cancel()
    require_nothing_reported(case, await task)


@check(
    "USE-9",
    modes=(Mode.STREAM,),
    requires=USAGE,
    hint="Publish what a stream reports as it comes; closing it early neither adds to it nor brings back old usage.",
)
async def an_abandoned_stream_leaves_no_earlier_usage(case: Case) -> None:
    """After a stream that was closed early its context holds what it had reported or zero, never an earlier call's."""
    await leave_usage_behind(case)
    case.answers(stream_of(events_to_first_text(case, Answer.of("A ", "redwood.", usage=Usage(11, 7))), Stall()))
    async with opened(case) as stream:
        await case.within(anext(stream), "the first chunk")
    _require_not_earlier(case, case.usage(await case.transport()))


@check("USE-10", modes=BOTH, requires=USAGE, hint="The context variable belongs to the transport, not to the module.")
async def two_transports_share_no_usage(case: Case) -> None:
    """A call of one transport shows in no other, and neither clears nor takes what the other holds."""
    one, other = await case.transport(), await case.transport(fresh=True)
    case.answers(Answer.of("A redwood.", usage=Usage(11, 7)), Answer.of("An oak.", usage=Usage(23, 29)))
    await case.invoke(transport=one)
    require_nothing_reported(case, case.usage(other))
    await case.invoke(transport=other)
    require_counters(case, case.usage(one), Usage(11, 7))
    require_counters(case, case.usage(other), Usage(23, 29))


@check(
    "USE-12",
    modes=BOTH,
    over={"child-first": True, "parent-first": False},
    requires=USAGE,
    hint="A child inherits the context: keep one mutable record in it, so that whoever consumes empties it for all.",
)
async def usage_is_handed_out_once(case: Case, child_first: bool) -> None:
    """A child task that inherited the context and its parent do not both get one call's usage."""
    transport = await case.transport()
    case.answers(Answer.of("A redwood.", usage=Usage(11, 7)))
    await case.invoke()

    async def child() -> ModelUsage | None:
        return case.usage(transport)

    inheriting = asyncio.create_task(child())
    before = await inheriting if child_first else case.usage(transport)
    after = case.usage(transport) if child_first else await inheriting
    given = [before, after]
    told = [usage for usage in given if usage != ModelUsage()]
    case.require(
        told == [ModelUsage(11, 7)],
        expected="one of parent and child to get the usage, and the other zero",
        happened=f"consume_usage() gave {given[0]} and then {given[1]}",
    )
