"""Requests, answers and failures without a protocol: what a check says, and a wire puts into bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias


class Finish(StrEnum):
    """Why an answer ended. A wire says which of these it can express, and in which words."""

    STOP = "stop"
    OTHER_STOP = "other-stop"
    """A natural stop too, in another word: a stop sequence, or what compatible servers call it."""
    LENGTH = "length"
    CONTENT_FILTER = "content-filter"
    TOOL_CALLS = "tool-calls"
    PAUSE = "pause"
    CONTEXT_WINDOW = "context-window"
    REFUSAL = "refusal"
    FAILED = "failed"
    """The provider gave up half-way, and says so where the reason stands."""
    UNKNOWN = "unknown"
    """A reason that no client has heard of."""
    ABSENT = "absent"
    """No reason at all (null or missing)."""

    @property
    def is_natural(self) -> bool:
        """Whether the provider says by it that the text is complete."""
        return self in (Finish.STOP, Finish.OTHER_STOP)


@dataclass(frozen=True, slots=True)
class Text:
    """A block of text; `pieces` is how a stream cuts it."""

    pieces: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole text of the block."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Thinking:
    """A block of reasoning, which is no part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one of the caller's tools; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ServerToolCall:
    """A call of a tool that the provider runs itself, with its result: no obstacle to a whole answer."""


@dataclass(frozen=True, slots=True)
class UnknownBlock:
    """A block of a type that no client has heard of."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model's own refusal, where the wire has a form for it."""

    text: str


Block: TypeAlias = Text | Thinking | ToolCall | ServerToolCall | UnknownBlock | Refusal


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counters as the provider reports them; the extra ones must not be folded in (clause USE-3).

    `None` is a counter that is there and null. A wire leaves out an extra counter that it does not have.
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    server_tool_requests: int = 0


@dataclass(frozen=True, slots=True)
class RawUsage:
    """Usage of any JSON value whatever, put where the wire puts usage (clause USE-7)."""

    value: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """A provider's answer.

    Attributes:
        blocks: What it consists of, in order.
        finish: Why it ended.
        usage: The final usage; `None` means that the wire's usage field is missing.
        running: Totals that a stream reports before the final usage, in order (clause USE-11). A completion
            has no place for them.
    """

    blocks: tuple[Block, ...]
    finish: Finish = Finish.STOP
    usage: Usage | RawUsage | None = Usage(11, 7)
    running: tuple[Usage, ...] = ()

    @classmethod
    def of(cls, *pieces: str, **changes: Any) -> Answer:
        """An answer of one text block cut into `pieces`."""
        return cls(blocks=(Text(pieces),), **changes)

    @property
    def text(self) -> str:
        """All text of the answer, in order."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the provider words it; each wire has its own envelope for the fields.

    Attributes:
        status: The HTTP status; not on the wire where the failure is reported inside a stream.
        message: The provider's words.
        type: The provider's error type; `None` for the one that the wire's provider gives with the status.
        code: The provider's error code, on wires that have one.
        param: The parameter that the error is about, on wires that say so.
        headers: Additional response headers.
        body: A JSON value that replaces the wire's envelope and all the fields above, for servers of the same
            protocol that word errors in their own way.
    """

    status: int
    message: str = "The request could not be served."
    type: str | None = None
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """One turn or system text of a request as the wire carried it."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ReadTool:
    """A function tool of a request as the wire carried it."""

    name: str
    description: str | None
    parameters: Any


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A received request without its protocol.

    `system` and `turns` are in the wire's order; `output` is `"text"`, `"json"` (a JSON mode), `"strict"`, or
    `"schema"` (a JSON Schema that the provider is not asked to enforce).
    `temperature`, `tools` and `schema` are `None` where the wire carried none. `asks_usage` tells whether a
    streamed request asks for usage (`True` on wires that need no asking).
    """

    model: str | None
    system: Sequence[str]
    turns: Sequence[ReadMessage]
    stream: bool
    temperature: float | None = None
    max_tokens: int | None = None
    tools: Sequence[ReadTool] | None = None
    output: str = "text"
    schema: Any = None
    schema_name: str | None = None
    asks_usage: bool = True
