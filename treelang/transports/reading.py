"""From the bytes of a successful response to text, or to the error that says why there is none. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from treelang.transports.answer import AnswerState, decode_json
from treelang.transports.server_sent_events import EventDecoder, ServerSentEvent
from treelang.transports.translation import ErrorTranslator

_LARGEST_PLAIN_BODY = 65_536
"""Bytes without any event that are kept of a stream, to find the error object that some servers send instead."""


def read_completion(
    data: bytes,
    read_body: Callable[[dict[str, Any], AnswerState], str],
    natural_stops: frozenset[str],
    translator: ErrorTranslator,
) -> str:
    """Return the text of a whole response body.

    Args:
        data: The body as received.
        read_body: The wire's mapping: returns the text and puts everything else into the answer's state.
        natural_stops: The wire's words for a natural stop.
        translator: Makes the errors.

    Raises:
        ProviderResponseError: For an error reported in-band (ERR-11) and for any answer that is not a whole text
            (CMP-7, CMP-8).
    """
    try:
        body = decode_json(data)
    except ValueError as error:
        raise translator.unusable("it is not JSON") from error
    if not isinstance(body, dict):
        raise translator.unusable("it is not a JSON object")
    answer = AnswerState()
    text = answer.add_text(read_body(body, answer)) + answer.end_text()
    _raise_failure(body, answer, translator)
    _require_whole(answer, natural_stops, translator)
    return text


class StreamReader:
    """Texts from the bytes of an event stream. What it raises comes after the texts that came before it (STR-5).

    Args:
        read_event: The wire's mapping of one event: called with its object and the answer's state.
        natural_stops: The wire's words for a natural stop.
        translator: Makes the errors.
        skipped: Names of events that need not be decoded.
    """

    def __init__(
        self,
        read_event: Callable[[dict[str, Any], AnswerState], str],
        natural_stops: frozenset[str],
        translator: ErrorTranslator,
        skipped: frozenset[str] = frozenset(),
    ) -> None:
        self._answer = AnswerState()
        self._read_event = read_event
        self._natural_stops = natural_stops
        self._translator = translator
        self._skipped = skipped
        self._decoder = EventDecoder()
        self._plain_body: bytes | None = b""

    @property
    def over(self) -> bool:
        """Whether the answer has ended: at its terminal event, or with its body."""
        return self._answer.over

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield the texts that these bytes complete."""
        if self._plain_body is not None:
            self._plain_body = (self._plain_body + data)[:_LARGEST_PLAIN_BODY]
        yield from self._texts(self._decoder.feed(data))

    def end(self) -> Iterator[str]:
        """Yield what the end of the body completes; the answer is then over."""
        yield from self._texts(self._decoder.end())
        if self._plain_body:
            self._raise_plain_failure(self._plain_body)
        if not self._answer.over:
            yield from self._finish()

    def require_whole(self) -> None:
        """Raise `ProviderResponseError` unless the answer came to a natural stop with some text (STR-5, STR-6)."""
        _require_whole(self._answer, self._natural_stops, self._translator)

    def _texts(self, events: Iterator[ServerSentEvent]) -> Iterator[str]:
        for name, data in events:
            self._plain_body = None
            text = self._take_event(name, data)
            if text:
                yield text
            if self._answer.over:
                yield from self._finish()
                return

    def _take_event(self, name: str, data: bytes) -> str:
        if data.strip() == b"[DONE]":
            self._answer.over = True
            return ""
        event = None if name in self._skipped else self._decode(name, data)
        if event is None:
            return ""
        text = self._read_event(event, self._answer)
        _raise_failure(event, self._answer, self._translator)
        if self._answer.malformed is not None:
            raise self._translator.unusable(self._answer.malformed)
        return self._answer.add_text(text) if text else ""

    def _decode(self, name: str, data: bytes) -> dict[str, Any] | None:
        try:
            event = decode_json(data)
        except ValueError as error:
            if name == "error":
                self._translator.raise_in_band(data.decode(errors="replace"))
            raise self._translator.unusable("an event of the stream is not JSON") from error
        if name == "error":
            self._translator.raise_in_band(event)
        return event if isinstance(event, dict) else None

    def _finish(self) -> Iterator[str]:
        self._answer.over = True
        if held := self._answer.end_text():
            yield held

    def _raise_plain_failure(self, data: bytes) -> None:
        """Raise the error that a server sent in place of a stream, as a JSON object without any event."""
        try:
            body = decode_json(data)
        except ValueError as error:
            raise self._translator.unusable("it is not an event stream") from error
        if isinstance(body, dict):
            _raise_failure(body, self._answer, self._translator)
        raise self._translator.unusable("it is not an event stream")


def _raise_failure(body: dict[str, Any], answer: AnswerState, translator: ErrorTranslator) -> None:
    """Raise the error that the provider reported under a successful status, if it did (ERR-11)."""
    if answer.failure is not None:
        translator.raise_in_band(answer.failure)
    if body.get("error") not in (None, False, "", {}) or "error" in (body.get("type"), body.get("object")):
        translator.raise_in_band(body)


def _require_whole(answer: AnswerState, natural_stops: frozenset[str], translator: ErrorTranslator) -> None:
    if fault := answer.fault(natural_stops):
        raise translator.unusable(fault)
