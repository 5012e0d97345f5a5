"""What a wire is: the two-way translation between neutral values and the bytes of one protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from treelang_conformance.neutral import Answer, Failure, Finish, ReadRequest
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import Reply


class EventKind(StrEnum):
    """What a stream event means to a client."""

    SILENT = "silent"
    """Opens or accompanies; carries no text."""
    KEEP_ALIVE = "keep-alive"
    """Keeps a quiet connection open; carries nothing and may stand anywhere between events."""
    TEXT = "text"
    FINISH = "finish"
    """Carries the reason why the answer ended."""
    USAGE = "usage"
    """Carries usage and nothing else."""
    TERMINAL = "terminal"
    """The last event of a stream; nothing after it counts."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Event:
    """One whole event of a stream, encoded, with the line end that closes it; `text` is what it adds to the answer."""

    kind: EventKind
    data: bytes
    text: str = ""


@runtime_checkable
class Wire(Protocol):
    """One provider protocol, both ways. A third party adds one by the entry point `treelang_conformance.wires`."""

    name: str
    """As written after `--wire`, for instance `openai-chat`."""
    base_path: str
    """What the protocol's SDK wants behind the host in its base URL, for instance `/v1`, or nothing."""
    model: str
    """A model name that is sound on this wire and takes temperature and strict output."""
    stream_type: str
    """The content type of a stream, for instance `text/event-stream`."""
    finishes: frozenset[Finish]
    """The reasons that this protocol can express."""
    completion_sign: EventKind
    """The kind of event without which a stream is unfinished (clause STR-5): `FINISH` or `TERMINAL`."""
    has_json_mode: bool
    """Whether the protocol has a JSON mode of its own, besides strict output."""
    output_members: Sequence[tuple[str, ...]]
    """Where the JSON body of a request says which output it wants, as the names that lead there (clause FBK-14)."""
    highest_temperature: float
    """The end of the protocol's scale of temperatures, which begins at 0."""
    has_running_usage: bool
    """Whether a stream can report totals before the final ones (`Answer.running`)."""

    def completion(self, answer: Answer) -> Reply:
        """The response to a request that asked for no stream."""
        ...

    def events(self, answer: Answer) -> Sequence[Event]:
        """The whole stream of an answer, event by event, the terminal one last."""
        ...

    def error(self, failure: Failure) -> Reply:
        """A failing response in the protocol's own envelope."""
        ...

    def in_band_errors(self, failure: Failure) -> Mapping[str, Reply]:
        """The same failure in place of a completion, under status 200, by the name of each form that it takes.

        `failure.status` is then not on the wire.
        """
        ...

    def error_events(self, failure: Failure) -> Mapping[str, Event]:
        """The same failure reported inside a stream, by the name of each form that it takes."""
        ...

    def silent_events(self) -> Mapping[str, Event]:
        """Events that carry no text and must break nothing, by a name that a failure message can show."""
        ...

    def unusable_bodies(self) -> Mapping[str, bytes]:
        """JSON bodies of a successful status that are no valid answer, by a name that a failure message can show."""
        ...

    def rejections(self) -> Mapping[str, Failure]:
        """Explicit rejections of strict output, in every form known on this wire."""
        ...

    def look_alikes(self) -> Mapping[str, Failure]:
        """Failures that resemble a rejection of strict output and are none."""
        ...

    def failures(self) -> Mapping[str, Failure]:
        """One failure of each kind that clause ERR-11 tells apart, with the protocol's own types and codes.

        The names are `authentication`, `permission`, `rate-limit` and `other`.
        """
        ...

    def read(self, request: RecordedRequest) -> ReadRequest:
        """Translate a received request; raises `ValueError` saying what is not of this protocol."""
        ...
