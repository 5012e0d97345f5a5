"""USE-1 to USE-3, USE-7, USE-8, USE-11: which numbers are reported, for good answers, bad ones and odd counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treelang import ModelUsage
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._usage import (
    USAGE,
    require_counters,
    require_nothing_reported,
    require_usage,
)
from treelang_conformance.checks.transport._vocabulary import error_event, opened, rest_of, stream_of
from treelang_conformance.neutral import Answer, Block, Failure, Finish, RawUsage, Refusal, Text, ToolCall, Usage
from treelang_conformance.provider.script import Close, Gate, Reset, Send, Step, Wait
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import about

_COUNTERS = {
    "ordinary": Usage(11, 7),
    "large": Usage(1_048_576, 2**40),
    "zero-output": Usage(11, 0),
    "zero": Usage(0, 0),
}


@check(
    "USE-1",
    modes=(Mode.COMPLETE,),
    over=_COUNTERS,
    requires=USAGE,
    hint="Take the provider's own two counters from the answer; do not count, add or subtract tokens yourself.",
)
async def the_counters_are_the_providers(case: Case, usage: Usage) -> None:
    """After `complete`, `consume_usage()` gives the provider's own input and output counters, as reported."""
    case.answers(Answer.of("A redwood.", usage=usage))
    require_usage(case, await case.call(), usage)


@check(
    "USE-2",
    modes=(Mode.STREAM,),
    over=_COUNTERS,
    requires=USAGE,
    hint="Read on after the last text until the stream is over: most wires report usage at the very end.",
)
async def the_counters_of_a_stream_are_the_providers(case: Case, usage: Usage) -> None:
    """After a stream was consumed, `consume_usage()` gives the provider's own input and output counters."""
    case.answers(Answer.of("A ", "redwood.", usage=usage))
    require_usage(case, await case.call(), usage)


@check(
    "USE-2",
    modes=(Mode.STREAM,),
    requires=USAGE,
    hint="Ask for usage where the wire needs it: chat completions send none without stream_options.include_usage.",
)
async def the_stream_asks_for_usage(case: Case) -> None:
    """A streamed request asks the provider for usage where the wire needs asking."""
    case.answers(Answer.of("A redwood."))
    await case.call()
    case.require(case.read().asks_usage, expected="a request that asks for usage", happened="it does not ask")


_EXTRAS = {
    "cached": Usage(11, 7, cached_tokens=1000),
    "reasoning": Usage(11, 7, reasoning_tokens=5),
    "server-tools": Usage(11, 7, server_tool_requests=3),
    "all": Usage(11, 7, cached_tokens=9, reasoning_tokens=6, server_tool_requests=2),
}


@check(
    "USE-3",
    modes=BOTH,
    over=_EXTRAS,
    requires=USAGE,
    hint="prompt_tokens and completion_tokens are two counters of the provider; the details beside them are not added.",
)
async def extra_counters_are_not_folded_in(case: Case, usage: Usage) -> None:
    """Counters of the cache, of reasoning and of server tools change neither of the two values."""
    case.answers(Answer.of("A ", "redwood.", usage=usage))
    require_usage(case, await case.call(), usage)


def _any(value: Any) -> Any:
    """A value of another type than the field declares, on purpose."""
    return value


_UNREADABLE: dict[str, Usage | RawUsage | None] = {
    "missing": None,
    "null": RawUsage(None),
    "empty": RawUsage({}),
    "a-list": RawUsage([11, 7]),
    "a-string": RawUsage("11/7"),
    "a-number": RawUsage(18),
    "true": RawUsage(True),
    "unknown-names": RawUsage({"x_unheard_of": 18}),
    "deeply-nested": RawUsage({"x_unheard_of": [[[[{"tokens": [11, 7]}]]]] * 50}),
    "null-counters": Usage(None, None),
    "string-counters": Usage(_any("11"), _any("7")),
    "boolean-counters": Usage(_any(True), _any(True)),
    "fractional-counters": Usage(_any(11.5), _any(7.5)),
    "negative-counters": Usage(-11, -7),
    "list-counters": Usage(_any([11]), _any([7])),
}


@check(
    "USE-7",
    modes=BOTH,
    requires=USAGE,
    hint="Take a counter only when it is an int >= 0 (and no bool); an SDK passes on whatever the provider sent.",
)
async def usage_that_cannot_be_read_is_zero(case: Case) -> None:
    """Usage that is missing, null or malformed harms no answer and reads as zero, not reported."""
    for name, usage in _UNREADABLE.items():
        # Wires that report twice are wrong twice.
        running = (usage,) if isinstance(usage, Usage) and case.wire.has_running_usage else ()
        case.answers(Answer.of("A ", "redwood.", usage=usage, running=running))
        outcome = await case.call()
        with about(f"the usage {name!r}"):
            case.require_text(outcome, "A redwood.")
            require_nothing_reported(case, outcome.usage)


@check(
    "USE-7",
    modes=BOTH,
    over={"null-input": Usage(None, 7), "null-output": Usage(11, None)},
    requires=USAGE,
    hint="Each counter is read on its own; a null one is zero and does not spoil the other.",
)
async def one_null_counter_harms_nothing(case: Case, usage: Usage) -> None:
    """A usage of which one counter is null raises nothing, and no counter is other than reported or zero."""
    case.answers(Answer.of("A ", "redwood.", usage=usage))
    outcome = await case.call()
    case.require_text(outcome, "A redwood.")
    got = outcome.usage or ModelUsage()
    case.require(
        got.prompt_tokens in (0, usage.prompt_tokens) and got.completion_tokens in (0, usage.completion_tokens),
        expected=f"counters that are zero or the provider's ({usage.prompt_tokens}, {usage.completion_tokens})",
        happened=f"consume_usage() gave {got}",
    )


_REFUSED: dict[str, tuple[tuple[Block, ...], Finish]] = {
    "no-text": ((), Finish.STOP),
    "tool-call": ((Text(("Let me look.",)), ToolCall("measure", "{}")), Finish.TOOL_CALLS),
    "refusal": ((Refusal("I cannot help with that."),), Finish.REFUSAL),
    **{
        finish.value: ((Text(("A ", "red")),), finish)
        for finish in Finish
        if not finish.is_natural and finish not in (Finish.TOOL_CALLS, Finish.REFUSAL)
    },
}


@check(
    "USE-8",
    modes=BOTH,
    over=_REFUSED,
    requires=USAGE,
    hint="Publish usage before the answer is judged: an answer that is refused was billed all the same.",
)
async def the_usage_of_a_refused_answer_is_published(case: Case, row: tuple[tuple[Block, ...], Finish]) -> None:
    """An answer that is refused as invalid or incomplete leaves the usage that the provider reported with it."""
    blocks, finish = row
    if finish not in case.wire.finishes:
        case.not_applicable(f"the wire has no finish {finish.value!r}")
    case.answers(Answer(blocks, finish, Usage(11, 7)))
    outcome = await case.call()
    case.require(outcome.error, expected="the answer to be refused", happened=str(outcome))
    require_usage(case, outcome, Usage(11, 7))


@check(
    "USE-8",
    modes=(Mode.STREAM,),
    over={"closed": Close(), "reset": Reset(), "error-event": None},
    requires=USAGE,
    hint="Publish usage whenever an event reports it, not only when the stream has come to a good end.",
)
async def the_usage_of_a_stream_that_fails_later_is_published(case: Case, loss: Step | None) -> None:
    """A stream that fails after it reported usage leaves what it had reported."""
    _require_running_usage(case)
    reported = Usage(11, 2)
    answer = Answer.of("A ", "red", "wood.", usage=Usage(11, 7), running=(reported,))
    events = case.wire.events(answer)
    first = next(index for index, event in enumerate(events) if event.text)
    end = loss or Send(error_event(case, Failure(529)).data)
    gate = Gate("the failure")
    case.answers(stream_of(events[: first + 1], Wait(gate), end))
    async with opened(case) as stream:
        await case.within(anext(stream), "the first chunk")
        gate.open()
        outcome = await rest_of(case, stream)
    case.require(outcome.error, expected="the stream to fail", happened=str(outcome))
    require_counters(case, case.usage(await case.transport()), reported)


def _require_running_usage(case: Case) -> None:
    if not case.wire.has_running_usage:
        case.not_applicable("a stream of this wire reports usage once, at its very end")


_TOTALS: dict[str, tuple[Sequence[Usage], Usage, Usage]] = {
    "growing": ((Usage(11, 1), Usage(11, 4)), Usage(11, 7), Usage(11, 7)),
    "repeated": ((Usage(11, 7), Usage(11, 7)), Usage(11, 7), Usage(11, 7)),
    "corrected-input": ((Usage(900, 1), Usage(900, 4)), Usage(477, 9), Usage(477, 9)),
    "corrected-downwards": ((Usage(11, 9),), Usage(10, 7), Usage(10, 7)),
    "null-input-at-the-end": ((Usage(25, 1),), Usage(None, 15), Usage(25, 15)),
    "null-output-at-the-end": ((Usage(25, 15),), Usage(27, None), Usage(27, 15)),
    "nulls-between": ((Usage(25, 1), Usage(None, None)), Usage(25, 15), Usage(25, 15)),
    "nulls-first": ((Usage(None, None), Usage(25, 1)), Usage(25, 15), Usage(25, 15)),
    "nulls-at-the-end": ((Usage(25, 1), Usage(25, 15)), Usage(None, None), Usage(25, 15)),
}
"""Totals that a stream reports on its way, the one at its end, and what stands in the end."""


@check(
    "USE-11",
    modes=(Mode.STREAM,),
    over=_TOTALS,
    requires=USAGE,
    hint="Totals replace one another, counter by counter, and null means not reported: assign, never add.",
)
async def the_last_total_of_each_counter_stands(case: Case, row: tuple[Sequence[Usage], Usage, Usage]) -> None:
    """Where a stream reports running totals, the last non-null value of each counter stands."""
    _require_running_usage(case)
    running, final, stands = row
    case.answers(Answer.of("A ", "red", "wood.", usage=final, running=tuple(running)))
    outcome = await case.call()
    case.require_text(outcome, "A redwood.")
    require_usage(case, outcome, stands)
