"""The wire of OpenAI's responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treelang_conformance.neutral import Answer, Failure, ReadRequest
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import EVENT_STREAM, Reply
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.openai_errors import FAILURES, envelope
from treelang_conformance.wires.openai_responses import answers, errors, events, oddities, requests

_REQUEST_ID = {"x-request-id": "req_conformance"}


class OpenAIResponsesWire:
    """OpenAI responses (`POST /v1/responses`)."""

    name = "openai-responses"
    base_path = "/v1"
    model = answers.MODEL
    stream_type = EVENT_STREAM
    finishes = frozenset(answers.ENDINGS)
    completion_sign = EventKind.TERMINAL
    highest_temperature = 2.0
    has_json_mode = True
    output_members = (("text", "format"),)
    has_running_usage = False

    def completion(self, answer: Answer) -> Reply:
        """The response to a request that asked for no stream."""
        return Reply.json(answers.response(answer), headers=_REQUEST_ID)

    def events(self, answer: Answer) -> Sequence[Event]:
        """The events of an answer: the response opened, its items part by part, the whole response."""
        return events.events(answer)

    def error(self, failure: Failure) -> Reply:
        """A failing response, `{"error": {...}}`."""
        body = envelope(failure)
        return Reply.json(body, status=failure.status, headers={**_REQUEST_ID, **failure.headers})

    def in_band_errors(self, failure: Failure) -> Mapping[str, Reply]:
        """The envelope of the error in place of the answer, and a response that failed."""
        headers = {**_REQUEST_ID, **failure.headers}
        return {form: Reply.json(body, headers=headers) for form, body in errors.bodies(failure).items()}

    def error_events(self, failure: Failure) -> Mapping[str, Event]:
        """An `error` event, flat or with the envelope, a response that failed, and the bare envelope."""
        return errors.events(failure)

    def silent_events(self) -> Mapping[str, Event]:
        """Progress of all kinds, deltas without text, and lines that are no events at all."""
        return oddities.silent_events()

    def unusable_bodies(self) -> Mapping[str, bytes]:
        """JSON bodies that are no answer in this protocol, or not a finished one."""
        return oddities.unusable_bodies()

    def rejections(self) -> Mapping[str, Failure]:
        """Explicit rejections of strict output, as OpenAI and servers compatible with it word them."""
        return errors.REJECTIONS

    def look_alikes(self) -> Mapping[str, Failure]:
        """Failures that share words, codes or parameters with a rejection of strict output."""
        return errors.LOOK_ALIKES

    def failures(self) -> Mapping[str, Failure]:
        """One failure of each in-band kind."""
        return FAILURES

    def read(self, request: RecordedRequest) -> ReadRequest:
        """Translate a received request; raises `ValueError` saying what is not of this protocol."""
        return requests.read(request, f"{self.base_path}/responses")
