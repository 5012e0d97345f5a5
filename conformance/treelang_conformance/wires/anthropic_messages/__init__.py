"""The wire of Anthropic's messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from treelang_conformance.neutral import Answer, Failure, ReadRequest
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import EVENT_STREAM, Reply
from treelang_conformance.wires.anthropic_messages import answers, errors, oddities, requests
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.sse import encode_event

_REQUEST_ID = {"request-id": errors.REQUEST_ID}


class AnthropicMessagesWire:
    """Anthropic messages (`POST /v1/messages`)."""

    name = "anthropic-messages"
    base_path = ""
    model = answers.MODEL
    stream_type = EVENT_STREAM
    finishes = frozenset(answers.FINISH_WORDS)
    completion_sign = EventKind.TERMINAL
    highest_temperature = 1.0
    has_running_usage = True
    has_json_mode = False
    output_members = (("output_config", "format"),)

    def completion(self, answer: Answer) -> Reply:
        """The response to a request that asked for no stream."""
        return Reply.json(answers.message(answer), headers=_REQUEST_ID)

    def events(self, answer: Answer) -> Sequence[Event]:
        """The events of an answer: the message opened, its blocks, its end with the usage, `message_stop`."""
        return answers.events(answer)

    def error(self, failure: Failure) -> Reply:
        """A failing response, `{"type": "error", "error": {...}}`."""
        body = errors.envelope(failure)
        return Reply.json(body, status=failure.status, headers={**_REQUEST_ID, **failure.headers})

    def in_band_errors(self, failure: Failure) -> Mapping[str, Reply]:
        """The envelope of the error in place of the answer."""
        return {"envelope": dataclasses.replace(self.error(failure), status=200)}

    def error_events(self, failure: Failure) -> Mapping[str, Event]:
        """An `error` event whose data is the envelope of the error."""
        return {"envelope": Event(EventKind.ERROR, encode_event(errors.envelope(failure), name="error"))}

    def silent_events(self) -> Mapping[str, Event]:
        """Pings, deltas without text, and lines that are no events at all."""
        return oddities.silent_events()

    def unusable_bodies(self) -> Mapping[str, bytes]:
        """JSON bodies that are no answer in this protocol."""
        return oddities.unusable_bodies()

    def rejections(self) -> Mapping[str, Failure]:
        """Explicit rejections of strict output, as Anthropic and gateways to it word them."""
        return errors.REJECTIONS

    def look_alikes(self) -> Mapping[str, Failure]:
        """Failures that share words or field paths with a rejection of strict output."""
        return errors.LOOK_ALIKES

    def failures(self) -> Mapping[str, Failure]:
        """One failure of each in-band kind."""
        return errors.FAILURES

    def read(self, request: RecordedRequest) -> ReadRequest:
        """Translate a received request; raises `ValueError` saying what is not of this protocol."""
        return requests.read(request, f"{self.base_path}/v1/messages")
