"""STR-3, USE and CAP-1 over examples that nobody thought of: any text cut anywhere, any order of calls, any name."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from enum import StrEnum

from treelang import ModelUsage, ProviderResponseError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._usage import (
    USAGE,
    require_counters,
    require_nothing_reported,
    require_usage,
)
from treelang_conformance.checks.transport._vocabulary import unnatural
from treelang_conformance.checks.transport.capabilities import declared_capabilities
from treelang_conformance.examples import for_examples, numbers, texts
from treelang_conformance.neutral import Answer, Failure, Usage
from treelang_conformance.provider.script import Reply, Script, Send
from treelang_conformance.registry import BOTH, Mode, check


@check("STR-3", modes=(Mode.STREAM,), hint="Buffer bytes until a whole line is there, and decode whole lines only.")
async def any_text_cut_anywhere_comes_whole(case: Case) -> None:
    """Any text, in any pieces, its stream cut at any bytes and with either line end, comes out whole."""
    from hypothesis import strategies

    pieces = strategies.lists(texts(least=1, most=6), min_size=1, max_size=4)
    cuts = strategies.lists(numbers(10), max_size=12)
    examples = strategies.tuples(pieces, cuts, strategies.booleans())

    async def judge(example: tuple[list[str], list[int], bool]) -> None:
        parts, places, crlf = example
        answer = Answer.of(*parts)
        stream = b"".join(event.data for event in case.wire.events(answer))
        if crlf:
            stream = stream.replace(b"\n", b"\r\n")
        bounds = sorted({0, len(stream), *(place * len(stream) // 1024 for place in places)})
        sent = [Send(stream[start:end]) for start, end in itertools.pairwise(bounds)]
        case.answers(Reply.event_stream(*sent))
        case.require_text(await case.call(), answer.text)

    await for_examples(case, examples, judge, at_most=20)


@check("CAP-1", requires=("capabilities",), hint="Decide by a table in memory, with a default for every other name.")
async def any_name_has_capabilities(case: Case) -> None:
    """`capabilities` returns `ModelCapabilities` for any string at all, and the same the second time."""
    transport = await case.transport()
    family = case.wire.model.partition("-")[0]

    async def judge(name: str) -> None:
        for model in (name, f"{family}-{name}", f"{case.wire.model}{name}"):
            first, again = (declared_capabilities(case, transport, model) for _ in range(2))
            case.require(first == again, expected=f"{first} for {model!r} again", happened=f"it gave {again}")

    await for_examples(case, texts(most=12), judge, at_most=40)


class _Step(StrEnum):
    """One thing that an application does with a transport."""

    SUCCEED = "succeed"
    SAY_NOTHING = "succeed-without-usage"
    BE_REFUSED = "be-refused"
    FAIL = "fail"
    ELSEWHERE = "call-in-another-task"
    CONSUME = "consume"


@check(
    "USE-5",
    modes=BOTH,
    requires=USAGE,
    hint="Usage belongs to the last call that began in a context, until somebody consumes it there.",
)
async def usage_is_right_after_any_order_of_calls(case: Case) -> None:
    """After any order of good, refused and failed calls, here and in other tasks, usage is the last call's or zero."""
    from hypothesis import strategies

    transport = await case.transport()
    kinds, counters = list(_Step), itertools.count(10, 10)

    async def judge(steps: list[_Step]) -> None:
        held: Usage | None = None
        for step in (*steps, _Step.CONSUME):
            usage = Usage(number := next(counters), number + 3)
            match step:
                case _Step.CONSUME:
                    _require_held(case, case.usage(transport), held)
                    held = None
                case _Step.ELSEWHERE:
                    case.answers(Answer.of("A redwood.", usage=usage))
                    require_usage(case, await asyncio.create_task(case.call()), usage)
                case _:
                    case.answers(_reply(case, step, usage))
                    with contextlib.suppress(ProviderResponseError):
                        await case.invoke()
                    held = usage if step in (_Step.SUCCEED, _Step.BE_REFUSED) else None

    await for_examples(
        case, strategies.lists(numbers(3).map(lambda number: kinds[number % len(kinds)]), max_size=6), judge, at_most=10
    )


def _reply(case: Case, step: _Step, usage: Usage) -> Answer | Script:
    match step:
        case _Step.SUCCEED:
            return Answer.of("A ", "redwood.", usage=usage)
        case _Step.SAY_NOTHING:
            return Answer.of("A ", "redwood.", usage=None)
        case _Step.BE_REFUSED:
            return Answer.of("A ", "red", usage=usage, finish=unnatural(case))
        case _:
            return case.wire.error(Failure(500))


def _require_held(case: Case, got: ModelUsage | None, held: Usage | None) -> None:
    if held is None:
        require_nothing_reported(case, got)
    else:
        require_counters(case, got, held)
