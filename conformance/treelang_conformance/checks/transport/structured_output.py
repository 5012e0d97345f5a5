"""FBK-1 to FBK-4, FBK-12, FBK-13: strict output on the wire, and what counts as its rejection."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
from collections.abc import Mapping
from typing import Any

from treelang import ModelTransportError, ProviderResponseError, StructuredOutputUnsupportedError, TreelangError
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._faults import ANSWER, require_kind
from treelang_conformance.checks.transport._vocabulary import events_to_first_text, require_chunks, stream_of
from treelang_conformance.neutral import Failure
from treelang_conformance.outcome import Outcome, shortened
from treelang_conformance.registry import BOTH, Mode, check
from treelang_conformance.violation import about
from treelang_conformance.wires.base import Event

_JSON_MODE = {"type": "json_object"}

_NODE = {
    "type": "object",
    "title": "Knoten \u2014 \u6728 \U0001f332",
    "properties": {
        "name": {"type": "string", "description": 'A "quoted"\n\u00fcber-long name', "pattern": "^[a-z\\\\d]+$"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "minItems": 0, "maxItems": 9},
        "height": {"anyOf": [{"type": "number", "minimum": 0.5, "maximum": 1e3}, {"type": "null"}], "default": None},
    },
    "required": ["name", "children", "height"],
    "additionalProperties": False,
}
_SCHEMAS: dict[str, Mapping[str, Any]] = {
    "flat": {
        "type": "object",
        "properties": {"tree": {"type": "string"}},
        "required": ["tree"],
        "additionalProperties": False,
    },
    "recursive": {"$defs": {"node": _NODE}, "$ref": "#/$defs/node"},
    "keys-not-in-alphabetical-order": {
        "required": ["zebra", "ant"],
        "additionalProperties": False,
        "type": "object",
        "properties": {"zebra": {"const": 1}, "ant": {"enum": ["b", "a", None, 0, False]}},
    },
    "open": {"type": "object", "properties": {"any": {}, "never": False, "always": True}, "x-own-keyword": [1, {}]},
    "properties-named-like-keywords": {
        "type": "object",
        "properties": {"type": {"type": "string"}, "strict": {"type": "boolean"}, "schema": {"type": "object"}},
        "required": ["type", "strict", "schema"],
        "additionalProperties": False,
    },
}


@check(
    "FBK-1",
    modes=BOTH,
    hint="Pass the schema on as it is: helpers of SDKs rewrite schemas, and some adapters weaken strict to JSON mode.",
)
async def a_strict_request_is_strict_on_the_wire(case: Case) -> None:
    """A strict request asks for strict output on the wire, with the schema unchanged to the order of its keys."""
    for name, schema in _SCHEMAS.items():
        with about(f"the schema {name!r}"):
            await _require_strict_on_the_wire(case, schema)


async def _require_strict_on_the_wire(case: Case, schema: Mapping[str, Any]) -> None:
    case.answers(ANSWER)
    strict = {"type": "json_schema", "json_schema": {"name": "a_tree", "strict": True, "schema": copy.deepcopy(schema)}}
    case.require_text(await case.call(case.request(response_format=strict)), ANSWER.text)
    read = case.read()
    case.require(read.output == "strict", expected="strict output on the wire", happened=f"it asks for {read.output!r}")
    # As text, so that the order of keys counts, which is the order of the answer's.
    case.require(
        json.dumps(read.schema) == json.dumps(schema),
        expected=f"the schema {shortened(schema)}",
        happened=f"the wire carried {shortened(read.schema)}",
    )


@check(
    "FBK-2",
    modes=BOTH,
    hint="Rejections have no common code: recognise the beginning of the message, in every envelope that servers use.",
)
async def a_rejection_of_strict_output_is_told_apart(case: Case) -> None:
    """Every known rejection of a strict request raises `StructuredOutputUnsupportedError`."""
    for name, failure in case.wire.rejections().items():
        case.answers(case.wire.error(failure))
        with about(f"the rejection {name!r}"):
            require_kind(case, await case.call(case.strict_request()), StructuredOutputUnsupportedError)


@check("FBK-2", modes=BOTH, hint="Give the error what every other error of a failing status gets.")
async def a_rejection_carries_provider_status_and_cause(case: Case) -> None:
    """The error for a rejection has the provider's name, the status of the response and the SDK's exception."""
    name, failure = next(iter(case.wire.rejections().items()))
    case.answers(case.wire.error(failure))
    error = require_kind(case, await case.call(case.strict_request()), StructuredOutputUnsupportedError)
    with about(f"the rejection {name!r}"):
        case.require(error.provider, expected="the provider's name", happened=f"provider is {error.provider!r}")
        case.require(
            error.status_code == failure.status,
            expected=f"status_code {failure.status}",
            happened=f"it is {error.status_code!r}",
        )
        cause = error.__cause__
        case.require(
            isinstance(cause, Exception) and not isinstance(cause, TreelangError),
            expected="the SDK's exception as `__cause__`",
            happened=f"it is {type(cause).__name__}",
        )


_ANCHOR = (
    "Look at the beginning of the message, and only under 400 and 422: the same words occur in other errors, and in "
    "prompts that errors quote."
)


@check("FBK-3", modes=BOTH, hint=_ANCHOR)
async def a_failure_that_resembles_a_rejection_is_none(case: Case) -> None:
    """A failure about something else, or one that quotes a rejection, is not taken for a rejection."""
    for name, failure in case.wire.look_alikes().items():
        with about(f"the failure {name!r}"):
            await _require_no_rejection(case, failure)


@check("FBK-3", modes=BOTH, hint=_ANCHOR)
async def a_rejections_words_under_another_status_are_none(case: Case) -> None:
    """The very words of a rejection, under a status that is no bad request, are not taken for a rejection."""
    rejection = next(iter(case.wire.rejections().values()))
    for status in (401, 403, 404, 408, 429, 500, 503):
        with about(f"status {status}"):
            await _require_no_rejection(case, dataclasses.replace(rejection, status=status))


@check("FBK-3", modes=BOTH, hint=_ANCHOR)
async def a_rejection_that_quotes_the_prompt_is_none(case: Case) -> None:
    """A bad request whose message quotes a prompt that holds a rejection's words is not taken for a rejection."""
    for name, rejection in case.wire.rejections().items():
        if rejection.body is not None:
            continue  # worded outside the wire's own fields
        words = f'Invalid content in the user\'s text "{rejection.message}"'
        quoting = dataclasses.replace(rejection, message=words, code=None, param=None)
        with about(f"the rejection {name!r} quoted"):
            await _require_no_rejection(case, quoting, messages=[{"role": "user", "content": rejection.message}])


async def _require_no_rejection(case: Case, failure: Failure, **changes: Any) -> None:
    case.answers(case.wire.error(failure))
    _require_no_reason_to_fall_back(case, await case.call(case.strict_request(**changes)))


def _require_no_reason_to_fall_back(case: Case, outcome: Outcome) -> None:
    error = case.require_error(outcome, ProviderResponseError)
    case.require(
        not isinstance(error, StructuredOutputUnsupportedError),
        expected="an error that nobody takes for a reason to fall back",
        happened=str(outcome),
    )


_NOT_STRICT: dict[str, Mapping[str, Any]] = {"text": {}, "json-mode": {"response_format": _JSON_MODE}}


@check(
    "FBK-4",
    modes=BOTH,
    hint="Only a request that asked for strict output can have it rejected: remember what this call asked for.",
)
async def a_rejection_of_what_was_not_asked_for_is_plain(case: Case) -> None:
    """The same rejections of a request that was not strict raise `ModelTransportError` and nothing more specific."""
    asked = itertools.cycle(_NOT_STRICT.items())  # every rejection once: what was asked for does not change its words
    for (name, failure), (what, changes) in zip(case.wire.rejections().items(), asked, strict=False):
        case.answers(case.wire.error(failure))
        with about(f"the rejection {name!r} of a {what} request"):
            require_kind(case, await case.call(case.request(**changes)), ModelTransportError)


@check("FBK-4", modes=BOTH, hint="Keep what a call asked for with the call, not on the transport.")
async def a_strict_call_does_not_colour_the_next(case: Case) -> None:
    """A rejection of a plain request is plain on a transport whose call before was strict."""
    rejection = next(iter(case.wire.rejections().values()))
    case.answers(ANSWER, *[case.wire.error(rejection)] * 2)
    case.require_text(await case.call(case.strict_request()), ANSWER.text)
    require_kind(case, await case.call(case.request()), ModelTransportError)
    require_kind(case, await case.call(case.strict_request()), StructuredOutputUnsupportedError)


@check(
    "FBK-12",
    modes=BOTH,
    hint="Where no message has the word JSON, add a text of your own that asks for JSON; leave the caller's as it is.",
)
async def a_request_for_json_is_one_that_the_wire_accepts(case: Case) -> None:
    """A JSON-mode request uses the wire's JSON mode where there is one, and says the word JSON in a message."""
    case.answers(ANSWER)
    request = case.request(response_format=_JSON_MODE)
    case.require_text(await case.call(copy.deepcopy(request)), ANSWER.text)
    read = case.read()
    mode = "json" if case.wire.has_json_mode else "text"
    case.require(read.output == mode, expected=f"the output {mode!r}", happened=f"the wire carried {read.output!r}")
    texts = [*read.system, *(turn.text for turn in read.turns)]
    case.require(
        any("json" in text.lower() for text in texts),
        expected="the word JSON in a message",
        happened=f"none of the {len(texts)} texts on the wire has it",
    )
    _require_texts_kept(case, request, texts)


def _require_texts_kept(case: Case, request: Mapping[str, Any], texts: list[str]) -> None:
    remaining = iter(texts)
    for message in request["messages"]:
        case.require(
            any(message["content"] in text for text in remaining),
            expected="the caller's own texts, in order and unchanged, beside what was added",
            happened=f"the {message['role']} text is missing or out of place",
        )


@check("FBK-12", modes=BOTH, hint="Ask for JSON in words in a JSON-mode request alone.")
async def other_requests_are_not_asked_for_json(case: Case) -> None:
    """A request for text or for strict output has no text on the wire but the caller's."""
    for name, request in {"a text request": case.request(), "a strict request": case.strict_request()}.items():
        case.answers(ANSWER)
        case.require_text(await case.call(request), ANSWER.text)
        read = case.read()
        added = [text for text in (*read.system, *(turn.text for turn in read.turns)) if "json" in text.lower()]
        with about(name):
            case.require(not added, expected="nothing about JSON", happened="the word JSON is in a message")


@check(
    "FBK-13",
    modes=(Mode.STREAM,),
    hint="What was yielded cannot be taken back: a failure after a chunk is final, even in a rejection's own words.",
)
async def nothing_falls_back_after_a_chunk(case: Case) -> None:
    """A strict stream that fails after a chunk raises the failure, and no second request is sent."""
    for name, rejection in case.wire.rejections().items():
        failure = Failure(400, rejection.message, rejection.type, rejection.code, rejection.param, body=rejection.body)
        for form, event in case.wire.error_events(failure).items():
            with about(f"the words of the rejection {name!r} in the stream, in the form {form!r}"):
                await _require_no_second_request(case, event)


async def _require_no_second_request(case: Case, error: Event) -> None:
    begun = events_to_first_text(case, ANSWER)
    sent = len(case.provider.requests)
    case.answers(stream_of([*begun, error]))
    outcome = await case.call(case.strict_request())
    _require_no_reason_to_fall_back(case, outcome)
    require_chunks(case, outcome, "".join(event.text for event in begun))
    received = len(case.provider.requests) - sent
    case.require(received == 1, expected="one request", happened=f"the provider received {received}")
