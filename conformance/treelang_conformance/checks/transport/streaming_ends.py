"""STR-5 to STR-9, STR-15: how streams end, well and badly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from treelang import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransportError,
)
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._faults import require_kind
from treelang_conformance.checks.transport._vocabulary import (
    ANSWER,
    SHORT_TIMEOUT,
    error_event,
    events_to_completion,
    events_to_first_text,
    opened,
    require_chunks,
    require_refused_after,
    rest_of,
    stream_of,
)
from treelang_conformance.neutral import Answer, Failure, Finish
from treelang_conformance.provider.script import Close, Framing, Gate, Reply, Reset, Send, Stall, Step, Wait
from treelang_conformance.registry import Mode, check
from treelang_conformance.violation import about
from treelang_conformance.wires.base import Event

_STREAM = (Mode.STREAM,)


def _text(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events)


@check(
    "STR-5",
    modes=_STREAM,
    over={"chunked": "chunked", "until-close": "close", "with-length": "length"},
    hint="SDKs end their iterators without an error here: remember whether the sign of completion came.",
)
async def a_stream_without_sign_of_completion_is_refused(case: Case, framing: Framing) -> None:
    """A stream that ends cleanly after any event before the sign of completion yields its chunks and then raises."""
    events = events_to_completion(case, ANSWER)
    for count in range(len(events) + 1):
        steps = [Send(event.data) for event in events[:count]]
        case.answers(Reply(headers={"content-type": "text/event-stream"}, body=steps, framing=framing))
        with about(f"{count} of {len(events)} events before the sign of completion"):
            require_refused_after(case, await case.call(), _text(events[:count]))


@check(
    "STR-5",
    modes=_STREAM,
    hint="What is left of an event when the body ends is no event: do not take a half one for whole.",
)
async def a_stream_that_ends_inside_an_event_is_refused(case: Case) -> None:
    """A stream that ends cleanly in the middle of a text event raises, and of that event nothing is yielded."""
    events = case.wire.events(ANSWER)
    last = max(index for index, event in enumerate(events) if event.text)
    half = events[last].data[: len(events[last].data) // 2]
    case.answers(stream_of(events[:last], Send(half)))
    require_refused_after(case, await case.call(), _text(events[:last]))


@check(
    "STR-6",
    modes=_STREAM,
    over={finish.value: finish for finish in Finish if not finish.is_natural},
    hint="Judge the stop reason when the stream is over, and raise for every one that is not known to be natural.",
)
async def a_stream_without_a_natural_stop_is_refused(case: Case, finish: Finish) -> None:
    """A stream that the provider broke off, for any reason, yields its chunks and then raises."""
    if finish not in case.wire.finishes:
        case.not_applicable(f"the wire has no finish {finish.value!r}")
    answer = Answer.of("A ", "red", finish=finish)
    case.answers(answer)
    require_refused_after(case, await case.call(), answer.text)


_KINDS: dict[str, type[ModelTransportError]] = {
    "authentication": ModelAuthenticationError,
    "permission": ModelAuthenticationError,
    "rate-limit": ModelRateLimitError,
    "other": ModelTransportError,
}


@check(
    "STR-7",
    modes=_STREAM,
    over={name: (name, kind) for name, kind in _KINDS.items()},
    hint="Status 200 says nothing once the stream runs: classify an error event by its type or code.",
)
async def an_error_in_the_stream_is_the_error_outside(case: Case, row: tuple[str, type[ModelTransportError]]) -> None:
    """An error event, at any place, raises what the failure raises outside a stream, after the chunks before it."""
    name, kind = row
    events = case.wire.events(ANSWER)
    first = next(index for index, event in enumerate(events) if event.text)
    places = {
        "in place of the answer": 0,
        "before any text": first,
        "after a chunk": first + 1,
        "before the sign of completion": len(events_to_completion(case, ANSWER)),
        "before the terminal event": len(events) - 1,
    }
    for (form, event), (place, count) in itertools.product(
        case.wire.error_events(case.wire.failures()[name]).items(), places.items()
    ):
        case.answers(stream_of([*events[:count], event]))
        with about(f"the form {form!r} {place}"):
            outcome = await case.call()
            require_kind(case, outcome, kind)
            require_chunks(case, outcome, _text(events[:count]))


_LOSSES: dict[str, tuple[Step, bool]] = {
    "closed": (Close(), False),
    "reset": (Reset(), False),
    "closed-inside-an-event": (Close(), True),
    "reset-inside-an-event": (Reset(), True),
}


@check(
    "STR-8",
    modes=_STREAM,
    over=_LOSSES,
    hint="While a stream is read, most SDKs let the HTTP library's own exceptions through: translate them there too.",
)
async def a_connection_lost_in_mid_stream_is_a_connection_error(case: Case, loss: tuple[Step, bool]) -> None:
    """A connection that is lost after the first chunk raises `ModelConnectionError`, and the chunk was yielded."""
    end, inside = loss
    begun = events_to_first_text(case, ANSWER)
    unfinished = case.wire.events(ANSWER)[len(begun)].data
    gate = Gate("the loss of the connection")
    half = [Send(unfinished[: len(unfinished) // 2])] if inside else []
    case.answers(stream_of(begun, Wait(gate), *half, end))
    await _require_chunk_then_error(case, gate, ModelConnectionError)


@check(
    "STR-8",
    modes=_STREAM,
    hint="What a call has seen of its response belongs to that call: not to the transport, and not to the context.",
)
async def a_lost_stream_is_not_taken_for_another_calls_failure(case: Case) -> None:
    """A stream lost after another call of the same task failed raises `ModelConnectionError`, not that failure."""
    gate = Gate("the loss of the connection")
    case.answers(stream_of(events_to_first_text(case, ANSWER), Wait(gate), Close()))
    async with opened(case) as stream:
        await case.within(anext(stream), "the first chunk")
        case.answers(case.wire.error(Failure(429, headers={"retry-after": "7"})))
        case.require_error(await case.call(mode=Mode.COMPLETE), ModelRateLimitError)
        gate.open()
        outcome = await rest_of(case, stream)
    error = case.require_error(outcome, ModelConnectionError)
    told = (getattr(error, "status_code", None), getattr(error, "retry_after", None))
    case.require(told == (None, None), expected="status_code and retry_after None", happened=f"they are {told}")


@check("STR-8", modes=_STREAM, hint="Translate the errors of reading the first bytes of the body as well.")
async def a_connection_lost_before_the_first_event_is_a_connection_error(case: Case) -> None:
    """A connection that is lost between the headers and the first event raises `ModelConnectionError`."""
    ends: dict[str, Step] = {"a close": Close(), "a reset": Reset()}
    for name, end in ends.items():
        case.answers(stream_of([], end))
        with about(f"{name} right after the headers"):
            case.require_error(await case.call(), ModelConnectionError)


@check("STR-8", modes=_STREAM, hint="A body that is shorter than its Content-Length is a lost connection, not an end.")
async def a_stream_short_of_its_length_is_a_connection_error(case: Case) -> None:
    """A stream that breaks off short of its promised length raises `ModelConnectionError`."""
    events = events_to_completion(case, ANSWER)
    body: list[Step] = [*(Send(event.data) for event in events), Close(), Send(b"the rest")]
    case.answers(Reply(headers={"content-type": "text/event-stream"}, body=body, framing="length"))
    case.require_error(await case.call(), ModelConnectionError)


async def _require_chunk_then_error(case: Case, gate: Gate, kind: type[ModelTransportError]) -> None:
    """The first chunk comes while the provider waits at the gate; what then happens raises `kind`."""
    chunks: list[str] = []
    async with opened(case) as stream:
        chunks.append(await case.within(anext(stream), "the first chunk"))
        gate.open()
        outcome = await rest_of(case, stream)
    case.require_error(outcome, kind)
    case.require(
        chunks == ["A "] and not outcome.chunks,
        expected="the one chunk 'A ' before the error",
        happened=f"{[*chunks, *outcome.chunks]!r} was yielded",
    )


@check(
    "STR-9",
    modes=_STREAM,
    over={"before-the-first-event": 0, "after-a-chunk": 1},
    hint="Map the timeouts of the SDK and of its HTTP library before their connection errors, of which they are often "
    "subclasses, and do so while the stream is read too: that timeout is one of each read.",
)
async def a_stall_in_mid_stream_is_a_timeout(case: Case, texts_before: int) -> None:
    """A stream that stalls longer than the client's timeout raises `ModelTimeoutError` after its chunks."""
    before = events_to_first_text(case, ANSWER) if texts_before else []
    case.answers(stream_of(before, Stall()))
    outcome = await case.call(transport=await case.transport(timeout=SHORT_TIMEOUT))
    require_kind(case, outcome, ModelTimeoutError)
    require_chunks(case, outcome, _text(before))


_AFTERMATHS: dict[str, Callable[[Case], Sequence[Step]]] = {
    "stays-open": lambda _: [Stall()],
    "is-lost": lambda _: [Close()],
    "brings-text": lambda case: [Send(_first_text(case).data)],
    "brings-text-and-stays-open": lambda case: [Send(_first_text(case).data), Stall()],
    "brings-an-error": lambda case: [Send(error_event(case, Failure(500)).data)],
    "brings-noise": lambda case: [Send(b"\xff" + _first_text(case).data[-8:]), Stall()],
}


_HELD_SECONDS = 0.4
"""How long a stream may be idle in all: the provider sends everything at once, and then nothing for ever.

Many times what an adapter grants the body's end to keep the connection, and a fraction of what a caller would notice.
"""


def _first_text(case: Case) -> Event:
    return next(event for event in case.wire.events(Answer.of("Not an answer.")) if event.text)


@check(
    "STR-15",
    modes=_STREAM,
    over=_AFTERMATHS,
    hint="Leave the loop at the terminal event and close the response; most SDK iterators wait for the body's end. "
    "Who waits for that end, to keep the connection, must do so for a moment only.",
)
async def the_terminal_event_ends_the_stream(case: Case, aftermath: Callable[[Case], Sequence[Step]]) -> None:
    """After the provider's terminal event the stream is over, whatever becomes of the body, and the next call works."""
    case.answers(stream_of(case.wire.events(ANSWER), *aftermath(case)), ANSWER)
    async with opened(case) as stream:
        outcome = await case.within(rest_of(case, stream), "the end of a stream that is whole", _HELD_SECONDS)
    case.require_text(outcome, ANSWER.text)
    case.require_text(await case.call(), ANSWER.text)
