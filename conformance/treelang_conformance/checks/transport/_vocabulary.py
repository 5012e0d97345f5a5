"""Words that checks share: texts worth sending, ways to play a stream, and verdicts that several clauses need."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeAlias

from treelang import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
)
from treelang_conformance.cases.transport import Case
from treelang_conformance.neutral import Answer, Failure, Finish
from treelang_conformance.outcome import Outcome
from treelang_conformance.provider.script import Close, Gate, Reply, Reset, Script, Send, Step, Wait
from treelang_conformance.registry import Mode
from treelang_conformance.wires.base import Event

TEXTS = {
    "plain": "The tallest tree is a coast redwood.",
    "one-character": "7",
    "astral": "a \U0001f332, \U0001d531\U0001d52f\U0001d522\U0001d522 and \U0001f469\u200d\U0001f33e",
    "combining": "e\u0301a\u0308o\u0302\u0323 beside \u00e9\u00e4\u1ed9, \u1112\u1161\u11ab beside \ud55c",
    "right-to-left": "\u05e2\u05e5 and \u0634\u062c\u0631\u0629 and \u202eeert\u202c",
    "line-separators": "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1eh\r\ni\rj\n\nk",
    "byte-order-marks": "\ufeffa\ufeffb\ufeff",
    "control-characters": "nul \x00, bell \x07, escape \x1b[0m, delete \x7f",
    "outer-white-space": "\n\t  a tree \u00a0\u3000\n\n",
    "only-white-space": "\n ",
    "json": '{"tree": "\\u00e9\\n", "height": [115.9, null]}',
    "event-stream": "data: [DONE]\n\nevent: error\ndata: {}\n\n: ping\n\n",
    "markup": "<html>&amp;</html> ```json\n{}\n``` \\n %s {0}",
    "long": "A coast redwood \U0001f332 grows tall. \u00fc\n" * 4000,
}
"""Texts that a careless client bends: by normalising, stripping, splitting at more than LF, or unescaping twice."""

ANSWER = Answer.of("A ", "red", "wood.")
"""A sound answer, where no check depends on which one."""

SHORT_TIMEOUT = 0.15
"""Seconds for the client in checks that let it run into its own timeout."""

# --- texts and replies ---

Withholding: TypeAlias = Callable[[Script, Gate], Script]
"""A reply of which a part waits at a gate."""


def pieces(text: str, most: int = 40) -> tuple[str, ...]:
    """A text in up to about `most` pieces, single characters where it is short."""
    size = max(1, len(text) // most)
    return tuple(text[start : start + size] for start in range(0, len(text), size))


def reply_to(case: Case, answer: Answer) -> Script:
    """An answer in the form of the case's mode: a completion or a whole event stream."""
    return case.event_stream(answer) if case.mode is Mode.STREAM else case.wire.completion(answer)


def held(reply: Script, gate: Gate) -> Reply:
    """A reply whose headers wait at a gate."""
    return dataclasses.replace(_http(reply), before=(Wait(gate),))


def halved(reply: Script, gate: Gate) -> Reply:
    """A reply whose body waits at a gate between its halves."""
    return _with_middle(reply, Wait(gate))


def cut(reply: Script, end: Step) -> Reply:
    """A reply whose body ends with a step in its middle."""
    return _with_middle(reply, end)


def _with_middle(reply: Script, step: Step) -> Reply:
    sent = list(_http(reply).body)
    if len(sent) == 1 and isinstance(sent[0], Send):
        data = sent[0].data
        sent = [Send(data[: len(data) // 2]), Send(data[len(data) // 2 :])]
    middle = (len(sent) + 1) // 2
    return dataclasses.replace(_http(reply), body=(*sent[:middle], step, *sent[middle:]))


def _http(reply: Script) -> Reply:
    assert isinstance(reply, Reply), "wires answer with replies"  # noqa: S101  # a defect of the wire, not of a subject
    return reply


def stream_of(events: Iterable[Event], *then: Step) -> Reply:
    """A stream that sends each event in one write, and then plays the steps."""
    return Reply.event_stream(*(Send(event.data) for event in events), *then)


def events_to_first_text(case: Case, answer: Answer) -> list[Event]:
    """The events of an answer up to the first one that carries text."""
    events = list(case.wire.events(answer))
    first = next(index for index, event in enumerate(events) if event.text)
    return events[: first + 1]


def events_to_completion(case: Case, answer: Answer) -> list[Event]:
    """The events of an answer that come before the sign of completion."""
    events = case.wire.events(answer)
    return list(itertools.takewhile(lambda event: event.kind is not case.wire.completion_sign, events))


def error_event(case: Case, failure: Failure) -> Event:
    """A failure inside a stream in one of the wire's forms, for checks to which all are the same."""
    return next(iter(case.wire.error_events(failure).values()))


# --- calls ---


@contextlib.asynccontextmanager
async def opened(case: Case, request: Any = None) -> AsyncIterator[AsyncIterator[str]]:
    """A stream of the subject that is closed at the end of the block, in the way that it offers."""
    stream = (await case.transport()).stream(case.request() if request is None else request)
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


async def rest_of(case: Case, stream: AsyncIterator[str]) -> Outcome:
    """How a stream that was begun goes on and ends."""
    chunks: list[str] = []
    error: BaseException | None = None
    with case.bounded("the rest of the stream"):
        try:
            async for chunk in stream:
                chunks.append(chunk)  # noqa: PERF401  # a comprehension would lose what came before a failure
        except Exception as caught:  # whatever it is, it is the outcome
            error = caught
    return Outcome(tuple(chunks), error, None)


# --- ways to fail ---

ReplyMaker: TypeAlias = Callable[[Case], Answer | Script]
"""Makes a reply in the form of the case's wire and mode."""


def unnatural(case: Case) -> Finish:
    """Some way to break an answer off that the wire can express."""
    known = [finish for finish in Finish if finish in case.wire.finishes and not finish.is_natural]
    return known[0] if known else case.not_applicable("the wire cannot say that an answer was broken off")


FAILURES: dict[str, ReplyMaker] = {
    "bad-request": lambda case: case.wire.error(Failure(400)),
    "unauthorised": lambda case: case.wire.error(Failure(401)),
    "rate-limit": lambda case: case.wire.error(Failure(429)),
    "server-error": lambda case: case.wire.error(Failure(500)),
    "html-error": lambda _: Reply.bytes(b"<html></html>", status=502, headers={"content-type": "text/html"}),
    "html": lambda _: Reply.bytes(b"<html></html>", headers={"content-type": "text/html"}),
    "empty-body": lambda _: Reply.bytes(b""),
    "no-text": lambda _: Answer((), usage=None),
    "broken-off": lambda case: Answer.of("A red", finish=unnatural(case), usage=None),
    "closed-before-headers": lambda _: Reply(before=(Close(),)),
    "reset-before-headers": lambda _: Reply(before=(Reset(),)),
    "closed-inside-the-body": lambda case: cut(reply_to(case, dataclasses.replace(ANSWER, usage=None)), Close()),
    "reset-inside-the-body": lambda case: cut(reply_to(case, dataclasses.replace(ANSWER, usage=None)), Reset()),
}
"""Ways to fail in which the provider reports no usage."""


# --- verdicts ---

_TELLING_OF_SOMETHING_ELSE = (
    ModelAuthenticationError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelConnectionError,
    StructuredOutputUnsupportedError,
)


def require_refused(case: Case, outcome: Outcome) -> None:
    """The answer was refused as one that cannot be used, and not as a failure of another sort."""
    error = case.require_error(outcome, ProviderResponseError)
    case.require(
        not isinstance(error, _TELLING_OF_SOMETHING_ELSE),
        expected="ProviderResponseError and no kind that blames the credential, the rate, the line or the format",
        happened=str(outcome),
    )


def require_refused_after(case: Case, outcome: Outcome, text: str) -> None:
    """The chunks that came were yielded, and then the answer was refused."""
    require_refused(case, outcome)
    require_chunks(case, outcome, text)


def require_chunks(case: Case, outcome: Outcome, text: str) -> None:
    """What was yielded before the end, good or bad, is exactly `text`."""
    case.require(
        outcome.text == text,
        expected=f"the chunks that came before the failure, {text!r} together, to be yielded",
        happened=f"{outcome}",
        hint="Yield each chunk when it arrives; do not hold chunks back until the end is known to be good.",
    )


async def require_released(case: Case) -> None:
    """The provider sees every connection closed, or whole and idle."""
    await case.within(case.provider.released(), "the provider to see the connection released")


async def require_nothing_left(case: Case) -> None:
    """No task, unhandled failure, warning or open generator is left behind."""
    leftovers = await case.leftovers()
    case.require(not leftovers, expected="nothing to be left behind", happened=str(leftovers))
