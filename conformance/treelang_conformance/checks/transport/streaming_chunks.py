"""STR-1 to STR-4, STR-11, STR-13: which chunks come, when, and that nothing but text decides about them."""

from __future__ import annotations

import asyncio
import contextlib
import tracemalloc
from collections.abc import Callable, Iterable, Sequence

from treelang import ProviderResponseError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._vocabulary import TEXTS, opened, pieces, stream_of
from treelang_conformance.neutral import Answer, Block, ServerToolCall, Text, Thinking, UnknownBlock
from treelang_conformance.outcome import Outcome
from treelang_conformance.provider.script import Gate, Reply, Send, Stall, Step, Wait
from treelang_conformance.registry import Mode, check
from treelang_conformance.violation import about
from treelang_conformance.wires.base import EventKind

_STREAM = (Mode.STREAM,)


@check(
    "STR-1",
    modes=_STREAM,
    hint="Yield the text of each event as it was decoded: no stripping, no splitting, no second unescaping.",
)
async def the_chunks_are_the_text(case: Case) -> None:
    """The chunks of a stream together are the provider's text, character by character, and none is empty."""
    for name, text in TEXTS.items():
        for answer in (Answer.of(text), Answer.of(*pieces(text))):
            case.answers(answer)
            outcome = await case.call()
            with about(f"the text {name!r}"):
                case.require_text(outcome, text)
                _require_chunks_of_text(case, outcome)


_MIXED: dict[str, tuple[Block, ...]] = {
    "empty-pieces": (Text(("", "A ", "", "", "redwood.", "")),),
    "several-texts": (
        Text(("The ",)),
        Text(
            (
                "tallest ",
                "tree",
            )
        ),
        Text((".\n",)),
    ),
    "thinking": (Thinking("Let me think."), Text(("A ", "red")), Thinking("Which one?"), Text(("wood.",))),
    "unknown-blocks": (UnknownBlock(), Text(("A ",)), UnknownBlock(), Text(("redwood.",)), UnknownBlock()),
    "server-tools": (ServerToolCall(), Text(("A ", "redwood.")), ServerToolCall()),
}


@check(
    "STR-1",
    over=_MIXED,
    hint="Take the text by the same rules in both calls: every text block in order, and no block of another type.",
)
async def stream_and_complete_give_the_same_text(case: Case, blocks: tuple[Block, ...]) -> None:
    """The chunks together are what `complete` returns for the same answer, and none is empty."""
    answer = Answer(blocks)
    case.answers(case.wire.completion(answer), case.event_stream(answer))
    case.require_text(await case.call(mode=Mode.COMPLETE), answer.text)
    outcome = await case.call(mode=Mode.STREAM)
    case.require_text(outcome, answer.text)
    _require_chunks_of_text(case, outcome)


@check(
    "STR-1",
    modes=_STREAM,
    hint="A piece that ends in a high surrogate has to wait for the next one: JSON escapes may split a character.",
)
async def a_character_cut_in_two_escapes_comes_whole(case: Case) -> None:
    """A character whose two surrogate escapes stand in two events is yielded as one character."""
    case.answers(Answer.of("A ", "\ud83c", "\udf32 is", " a tr", "ee \ud83c", "\udf33\ud83c", "\udf34."))
    outcome = await case.call()
    case.require_text(outcome, "A \U0001f332 is a tree \U0001f333\U0001f334.")
    _require_chunks_of_text(case, outcome)


def _require_chunks_of_text(case: Case, outcome: Outcome) -> None:
    odd = [chunk for chunk in outcome.chunks if not isinstance(chunk, str) or not chunk]
    case.require(
        not odd,
        expected="every chunk to be a non-empty str",
        happened=f"{odd[:1]!r} was yielded",
        hint="Yield a piece only when there is text in it.",
    )


@check(
    "STR-2",
    modes=_STREAM,
    hint="Yield inside the loop over the events; do not collect, look ahead, or wait for buffers to fill.",
)
async def chunks_arrive_as_they_are_produced(case: Case) -> None:
    """Each chunk is yielded while the provider still withholds the next one."""
    texts = ("A", " redwood \U0001f332", ", I think", ".")
    gates = [Gate(f"piece {number}") for number in range(len(texts))]
    case.answers(_gated(case, texts, gates))
    async with opened(case) as stream:
        for number, text in enumerate(texts):
            gates[number].open()
            chunk = await case.within(anext(stream), f"the chunk {text!r}, while the provider withholds what follows,")
            case.require(chunk == text, expected=f"the chunk {text!r}", happened=f"{chunk!r} was yielded")


def _gated(case: Case, texts: Sequence[str], gates: Sequence[Gate]) -> Reply:
    """A stream that waits at a gate before each of its texts, and never goes on after the last."""
    events = case.wire.events(Answer.of(*texts))
    places = [index for index, event in enumerate(events) if event.text]
    steps: list[Step] = [Send(event.data) for event in events[: places[-1] + 1]]
    for place, gate in reversed(list(zip(places, gates, strict=True))):
        steps.insert(place, Wait(gate))
    return Reply.event_stream(*steps, Stall())


_KEEP_ALIVE_PIECES = ("A \U0001f332", " \u6728", " e\u0301.")


def _single_bytes(stream: bytes) -> Iterable[bytes]:
    return (stream[index : index + 1] for index in range(len(stream)))


def _crlf(stream: bytes) -> bytes:
    # No event holds a bare line feed but at the ends of its lines: JSON escapes those of the text.
    return stream.replace(b"\n", b"\r\n")


_CUTS: dict[str, Callable[[bytes], Iterable[bytes]]] = {
    "whole": lambda stream: [stream],
    "single-bytes": _single_bytes,
    "single-bytes-crlf": lambda stream: _single_bytes(_crlf(stream)),
    "whole-crlf": lambda stream: [_crlf(stream)],
    "between-cr-and-lf": lambda stream: _crlf(stream).replace(b"\r\n", b"\r\x00\n").split(b"\x00"),
    "threes": lambda stream: (stream[index : index + 3] for index in range(0, len(stream), 3)),
    "sevens": lambda stream: (stream[index : index + 7] for index in range(0, len(stream), 7)),
    "before-line-feeds": lambda stream: stream.replace(b"\n", b"\x00\n").split(b"\x00"),
    "after-line-feeds": lambda stream: stream.splitlines(keepends=True),
    "inside-characters": lambda stream: _after(stream, range(0xC0, 0x100)),
    "halves": lambda stream: (stream[: len(stream) // 2], stream[len(stream) // 2 :]),
}


def _after(stream: bytes, lead_bytes: range) -> Iterable[bytes]:
    """The stream cut behind every byte of some values."""
    start = 0
    for index, byte in enumerate(stream, 1):
        if byte in lead_bytes:
            yield stream[start:index]
            start = index
    yield stream[start:]


@check(
    "STR-3",
    modes=_STREAM,
    over=_CUTS,
    hint="Buffer bytes until a whole line is there, and decode whole lines only.",
)
async def the_cut_of_the_bytes_does_not_matter(case: Case, cut: Callable[[bytes], Iterable[bytes]]) -> None:
    """However the same bytes are cut, inside lines, characters and line ends too, the text is the same."""
    answer = Answer.of(*_KEEP_ALIVE_PIECES)
    stream = b"".join(event.data for event in case.wire.events(answer))
    case.answers(Reply.event_stream(*(Send(part) for part in cut(stream) if part)))
    case.require_text(await case.call(), answer.text)


@check("STR-3", modes=_STREAM, hint="Skip comments, pings and blank lines wherever they stand, also in great number.")
async def keep_alive_lines_do_not_matter(case: Case) -> None:
    """Between any two events, and in any number, lines that keep the connection alive change nothing."""
    answer = Answer.of(*_KEEP_ALIVE_PIECES)
    for name, keep_alive in case.wire.silent_events().items():
        if keep_alive.kind is not EventKind.KEEP_ALIVE:
            continue
        data = b"".join(keep_alive.data * 3 + event.data for event in case.wire.events(answer))
        case.answers(Reply.event_stream(Send(data)))
        with about(f"{name!r} between the events"):
            case.require_text(await case.call(), answer.text)


@check(
    "STR-3",
    modes=_STREAM,
    hint="An event may be larger than any buffer and may come in the same packet as many others.",
)
async def the_size_of_events_does_not_matter(case: Case) -> None:
    """A very large event, and very many small ones in one packet, come out whole."""
    large, small = Answer.of("\U0001f332" * 100_000), Answer.of(*["ab"] * 500)
    packet = b"".join(event.data for event in case.wire.events(small))
    case.answers(large, Reply.event_stream(Send(packet)))
    case.require_text(await case.call(), large.text)
    case.require_text(await case.call(), small.text)


@check(
    "STR-4",
    modes=_STREAM,
    hint="Look at each level of an event before going deeper: every one of them may be missing, null or empty.",
)
async def events_without_text_are_passed_over(case: Case) -> None:
    """An event that carries no text, before, between and after those that do, yields nothing and breaks nothing."""
    answer = Answer.of("A ", "redwood.")
    events = case.wire.events(answer)
    first, second = (index for index, event in enumerate(events) if event.text)
    for name, silent in case.wire.silent_events().items():
        between = (silent, *events[first:second], silent, events[second], silent)
        case.answers(stream_of([*events[:first], *between, *events[second + 1 :]]))
        with about(f"the event {name!r}"):
            outcome = await case.call()
            case.require_text(outcome, answer.text)
            _require_chunks_of_text(case, outcome)


@check("STR-11", modes=_STREAM, hint="Keep the state of a stream in its generator, nothing of it on the transport.")
async def streams_interleave_in_one_task(case: Case) -> None:
    """Two streams read chunk by chunk in turns, in one task, keep their texts apart."""
    texts = (("a", "b", "c"), ("1", "2", "3"))
    gates = [[Gate(f"piece {piece!r}") for piece in own] for own in texts]
    case.answers(_gated(case, texts[0], gates[0]), _gated(case, texts[1], gates[1]))
    async with opened(case) as first, opened(case) as second:
        for number in range(3):
            for index, stream in enumerate((first, second)):
                gates[index][number].open()
                wanted = texts[index][number]
                chunk = await case.within(anext(stream), f"the chunk {wanted!r}")
                case.require(chunk == wanted, expected=f"the chunk {wanted!r}", happened=f"{chunk!r} was yielded")


@check("STR-11", modes=_STREAM, hint="Keep the state of a stream in its generator, nothing of it on the transport.")
async def streams_run_in_many_tasks(case: Case) -> None:
    """Eight streams that are open at the same time in eight tasks keep their texts apart."""
    begun, rest = [Gate(f"stream {number}") for number in range(8)], Gate("the rest")
    answers = [Answer.of(f"{number} begins", ", ", f"{number} ends") for number in range(8)]
    for number, answer in enumerate(answers):
        events = case.wire.events(answer)
        first = next(index for index, event in enumerate(events, 1) if event.text)
        steps = [Send(event.data) for event in events]
        case.answers(Reply.event_stream(*steps[:first], Wait(begun[number]), Wait(rest), *steps[first:]))
    tasks = [asyncio.create_task(case.call()) for _ in answers]
    for gate in begun:
        await case.within(gate.reached(), "eight streams to be open at once")
        gate.open()
    rest.open()
    texts = sorted([(await task).text for task in tasks])
    wanted = sorted(answer.text for answer in answers)
    case.require(texts == wanted, expected=f"the texts {wanted}", happened=f"the streams gave {texts}")


_CHUNK = "A redwood grows tall. " * 3000
_CHUNKS = 48


@check(
    "STR-13",
    modes=_STREAM,
    hint="Keep no list of the chunks or events that have been yielded; what was read can be forgotten.",
)
async def memory_does_not_grow_with_the_stream(case: Case) -> None:
    """Half-way through a long stream and at its last chunk about the same memory is in use."""
    events = case.wire.events(Answer.of(*[_CHUNK] * _CHUNKS))
    last = max(index for index, event in enumerate(events) if event.text)
    # The rest is not sent: on some wires it repeats the whole text, and the provider's own memory would be measured.
    case.answers(stream_of(events[: last + 1]))
    held: list[int] = []
    tracemalloc.start()
    try:
        with contextlib.suppress(ProviderResponseError):
            async with opened(case) as stream:
                async for _ in stream:
                    held.append(tracemalloc.get_traced_memory()[0])  # noqa: PERF401  # measured while the stream runs
    finally:
        tracemalloc.stop()
    case.require(len(held) == _CHUNKS, expected=f"{_CHUNKS} chunks", happened=f"{len(held)} were yielded")
    growth, streamed = held[-1] - held[len(held) // 4], len(_CHUNK) * (len(held) * 3 // 4)
    case.require(
        growth < streamed // 2,
        expected=f"memory not to grow with the {streamed:,} characters streamed",
        happened=f"it grew by {growth:,} bytes",
    )
