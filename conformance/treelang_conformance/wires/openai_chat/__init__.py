"""The wire of OpenAI's chat completions, which many servers speak."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from treelang_conformance.neutral import Answer, Failure, ReadRequest
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import EVENT_STREAM, Reply
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.openai_chat import answers, errors, oddities, requests
from treelang_conformance.wires.openai_errors import FAILURES, envelope
from treelang_conformance.wires.sse import encode_event

_REQUEST_ID = {"x-request-id": "req_conformance"}


class OpenAIChatWire:
    """OpenAI chat completions (`POST /v1/chat/completions`)."""

    name = "openai-chat"
    base_path = "/v1"
    model = answers.MODEL
    stream_type = EVENT_STREAM
    finishes = frozenset(answers.FINISH_WORDS)
    completion_sign = EventKind.FINISH  # some servers never send [DONE]
    highest_temperature = 2.0
    has_running_usage = True
    has_json_mode = True
    output_members = (("response_format",),)

    def completion(self, answer: Answer) -> Reply:
        """The response to a request that asked for no stream."""
        return Reply.json(answers.completion(answer), headers=_REQUEST_ID)

    def events(self, answer: Answer) -> Sequence[Event]:
        """The chunks of an answer: the role, the pieces, the finish reason, the usage, and `[DONE]`."""
        return answers.events(answer)

    def error(self, failure: Failure) -> Reply:
        """A failing response, `{"error": {...}}`."""
        body = envelope(failure)
        return Reply.json(body, status=failure.status, headers={**_REQUEST_ID, **failure.headers})

    def in_band_errors(self, failure: Failure) -> Mapping[str, Reply]:
        """The envelope of the error in place of the answer."""
        return {"envelope": dataclasses.replace(self.error(failure), status=200)}

    def error_events(self, failure: Failure) -> Mapping[str, Event]:
        """An event whose data is the envelope of the error."""
        return {"envelope": Event(EventKind.ERROR, encode_event(envelope(failure)))}

    def silent_events(self) -> Mapping[str, Event]:
        """Chunks without text for the first choice, and lines that are no chunks at all."""
        return oddities.silent_events()

    def unusable_bodies(self) -> Mapping[str, bytes]:
        """JSON bodies that are no answer in this protocol."""
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
        return requests.read(request, f"{self.base_path}/chat/completions")
