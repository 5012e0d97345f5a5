"""CMP-1, CMP-7, CMP-8: what an answer is, and which answers are refused."""

from __future__ import annotations

from collections.abc import Callable

from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._vocabulary import (
    ANSWER,
    TEXTS,
    events_to_first_text,
    pieces,
    require_refused,
    require_refused_after,
    stream_of,
)
from treelang_conformance.neutral import (
    Answer,
    Block,
    Finish,
    Refusal,
    ServerToolCall,
    Text,
    Thinking,
    ToolCall,
    UnknownBlock,
)
from treelang_conformance.provider.script import Reply, Send
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import about
from treelang_conformance.wires.base import Event

_CALL = ToolCall("measure", '{"tree": "redwood"}')


@check(
    "CMP-1",
    modes=(Mode.COMPLETE,),
    hint="Return the provider's text as it was decoded: no stripping, no normalising, no second unescaping.",
)
async def the_text_comes_back_exactly(case: Case) -> None:
    """`complete` returns the provider's text, character by character."""
    for name, text in TEXTS.items():
        case.answers(Answer.of(text))
        outcome = await case.call()
        with about(f"the text {name!r}"):
            case.require_text(outcome, text)
            case.require(
                isinstance(outcome.returned, str),
                expected="a str",
                happened=f"complete returned a {type(outcome.returned).__name__}",
            )


@check(
    "CMP-1",
    modes=BOTH,
    over={finish.value: finish for finish in Finish if finish.is_natural},
    hint="A provider has more than one word for a natural stop, and so have servers that are compatible with it.",
)
async def an_answer_with_a_natural_stop_is_whole(case: Case, finish: Finish) -> None:
    """Every reason by which the provider says that the text is complete makes a whole answer."""
    _require_expressible(case, finish)
    answer = Answer.of("A ", "redwood.", finish=finish)
    case.answers(answer)
    case.require_text(await case.call(), answer.text)


def _require_expressible(case: Case, finish: Finish) -> None:
    if finish not in case.wire.finishes:
        case.not_applicable(f"the wire has no finish {finish.value!r}")


_MIXED_BLOCKS: dict[str, tuple[Block, ...]] = {
    "several-texts": (Text(("The ",)), Text(("tallest ", "tree",)), Text((".\n",))),
    "thinking-first": (Thinking("Let me think."), Text(("A redwood.",))),
    "thinking-between": (Text(("A ",)), Thinking("Which one?"), Text(("redwood.",))),
    "unknown-first": (UnknownBlock(), Text(("A redwood.",))),
    "unknown-between": (Text(("A ",)), UnknownBlock(), Text(("redwood.",))),
    "unknown-last": (Text(("A redwood.",)), UnknownBlock()),
    "server-tools": (ServerToolCall(), Text(("A redwood.",)), ServerToolCall()),
    "all-sorts": (Thinking("Hm."), Text(("A ",)), UnknownBlock(), Text(("",)), Text(("red", "wood")), Text((".",))),
}  # fmt: skip  # one row a line reads as the table that it is


@check(
    "CMP-1",
    modes=(Mode.COMPLETE,),
    over=_MIXED_BLOCKS,
    hint="Join the text of every text block in order, with nothing between, and skip blocks of other types.",
)
async def text_blocks_are_joined_and_other_blocks_left_out(case: Case, blocks: tuple[Block, ...]) -> None:
    """`complete` returns the joined text of the text blocks and nothing of thinking or unknown blocks."""
    answer = Answer(blocks)
    case.answers(answer)
    case.require_text(await case.call(), answer.text)


@check(
    "CMP-7",
    modes=BOTH,
    hint="SDKs do not validate a successful body: check each level yourself before you take the text out of it.",
)
async def json_of_another_shape_is_refused(case: Case) -> None:
    """A successful status with JSON that is no answer of the protocol raises `ProviderResponseError`."""
    for name, body in case.wire.unusable_bodies().items():
        case.answers(Reply.bytes(body, headers={"content-type": "application/json"}))
        with about(f"the body {name!r}"):
            require_refused(case, await case.call())


_HTML = b"<!doctype html><html><body>Sign in</body></html>"
_FOREIGN_BODIES = {
    "empty": (b"", "application/json"),
    "empty-without-type": (b"", None),
    "html": (_HTML, "text/html; charset=utf-8"),
    "html-called-json": (_HTML, "application/json"),
    "html-called-events": (_HTML, "text/event-stream"),
    "plain-text": (b"upstream request timed out", "text/plain"),
    "plain-text-without-type": (b"ok", None),
    "half-a-json": (b'{"id": "1", "choi', "application/json"),
    "not-utf-8": (b'{"id": "\xff\xfe\xc3"}', "application/json"),
    "null": (b"null", "application/json"),
    "a-list": (b"[]", "application/json"),
    "a-string": (b'"A redwood."', "application/json"),
    "a-number": (b"7", "application/json"),
    "not-a-number": (b"NaN", "application/json"),
    "deeply-nested": (b"[" * 100_000, "application/json"),
    "an-empty-object": (b"{}", "application/json"),
}


@check(
    "CMP-7",
    modes=BOTH,
    hint="A gateway's page or a wrong base URL answers 200 too: a body that cannot be decoded is an invalid answer.",
)
async def a_body_of_another_kind_is_refused(case: Case) -> None:
    """A successful status with a body that is not the protocol's at all raises `ProviderResponseError`."""
    for name, (body, content_type) in _FOREIGN_BODIES.items():
        case.answers(Reply.bytes(body, headers={"content-type": content_type} if content_type else {}))
        with about(f"the body {name!r}"):
            require_refused(case, await case.call())


@check(
    "CMP-7",
    modes=(Mode.STREAM,),
    hint="An SDK's event iterator ends at once, without an error, when the body holds no events.",
)
async def a_completion_in_place_of_a_stream_is_no_empty_answer(case: Case) -> None:
    """A stream request answered with a whole completion yields its text or raises, but never ends empty."""
    case.answers(case.wire.completion(Answer.of("A redwood.")))
    outcome = await case.call()
    if outcome.text != "A redwood.":
        require_refused(case, outcome)


def _shortened_json(event: Event) -> bytes:
    """A text event whose content lacks its last character, with its ending as it was."""
    content = event.data.rstrip(b"\n")
    return content[:-1] + event.data[len(content) :]


def _not_utf_8(event: Event) -> bytes:
    return event.data.replace(event.text.encode(), b"\xff\xfe\xc3")


@check(
    "CMP-7",
    modes=(Mode.STREAM,),
    over={"not-json": _shortened_json, "not-utf-8": _not_utf_8},
    hint="SDKs let the errors of their decoders through raw, and errors of decoding are no errors of the connection.",
)
async def an_event_that_cannot_be_decoded_is_refused(case: Case, damage: Callable[[Event], bytes]) -> None:
    """A stream of which one event cannot be decoded raises `ProviderResponseError` after the chunks before it."""
    events = case.wire.events(ANSWER)
    begun = events_to_first_text(case, ANSWER)
    damaged = Send(damage(events[len(begun)]))
    case.answers(stream_of(begun, damaged, *(Send(event.data) for event in events[len(begun) + 1 :])))
    require_refused_after(case, await case.call(), "A ")


_NO_WHOLE_TEXT: dict[str, Answer] = {
    "tool-call": Answer((_CALL,), Finish.TOOL_CALLS),
    "tool-call-after-text": Answer((Text(("Let me look.",)), _CALL), Finish.TOOL_CALLS),
    "tool-call-with-a-natural-stop": Answer((_CALL,), Finish.STOP),
    "tool-call-after-text-with-a-natural-stop": Answer((Text(("Let me look.",)), _CALL), Finish.STOP),
    "refusal": Answer((Refusal("I cannot help with that."),), Finish.STOP),
    "refusal-after-text": Answer((Text(("Let me see. ",)), Refusal("I cannot help with that.")), Finish.STOP),
    "no-blocks": Answer(()),
    "empty-text": Answer.of(""),
    "only-thinking": Answer((Thinking("Let me think."),)),
    "only-unknown": Answer((UnknownBlock(),)),
}


@check(
    "CMP-7",
    modes=BOTH,
    over=_NO_WHOLE_TEXT,
    hint="Look for tool calls and refusals whatever the stop reason says, and refuse an answer without any text.",
)
async def an_answer_that_is_no_whole_text_is_refused(case: Case, answer: Answer) -> None:
    """A call of the caller's tool, a refusal or an answer without text raises `ProviderResponseError`."""
    _require_expressible(case, answer.finish)
    case.answers(answer)
    require_refused(case, await case.call(case.request(tools=[_MEASURE])))


_MEASURE = {
    "type": "function",
    "function": {
        "name": "measure",
        "description": "Measure a tree.",
        "parameters": {"type": "object", "properties": {"tree": {"type": "string"}}},
    },
}


@check(
    "CMP-8",
    modes=(Mode.COMPLETE,),
    over={finish.value: finish for finish in Finish if not finish.is_natural},
    hint="Return the text only for the stop reasons that you know to be natural; refuse every other, also new ones.",
)
async def an_answer_without_a_natural_stop_is_refused(case: Case, finish: Finish) -> None:
    """An answer that the provider broke off, for any reason, raises `ProviderResponseError`."""
    _require_expressible(case, finish)
    case.answers(Answer.of(*pieces(TEXTS["plain"]), finish=finish))
    require_refused(case, await case.call())
