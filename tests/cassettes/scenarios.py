"""What stands on the cassettes: one call each, which the loopback provider answers and a real one can.

Timing, lost connections and cancellation are not here: a cassette holds a response whole or not at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.adapters import ADAPTERS, Adapter
from treelang import (
    ModelAuthenticationError,
    ModelRateLimitError,
    ModelRequest,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
)
from treelang_conformance.neutral import Answer, Finish
from treelang_conformance.provider.script import Reply, Send
from treelang_conformance.wires.base import EventKind, Wire
from treelang_conformance.wires.discovery import find_wire, wire_names

DIRECTORY = Path(__file__).parents[2] / "cassettes"

ANSWER = Answer.of("The tallest ", "tree is a coast ", "redwood.")
STRICT_ANSWER = Answer.of('{"tree":"coast redwood"}')
BROKEN_OFF = Answer.of("Coast redwoods are ", finish=Finish.LENGTH)


def _strict(**keywords: Any) -> Mapping[str, Any]:
    schema = {
        "type": "object",
        "properties": {"tree": {"type": "string"}},
        "required": ["tree"],
        "additionalProperties": False,
        **keywords,
    }
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": "tree", "strict": True, "schema": schema}}
    }


def _stream(wire: Wire, answer: Answer, *, whole: bool = True) -> Reply:
    events = [event for event in wire.events(answer) if whole or event.kind in (EventKind.SILENT, EventKind.TEXT)]
    return Reply.event_stream(*(Send(event.data) for event in events))


@dataclass(frozen=True, slots=True)
class Scenario:
    """One call.

    Attributes:
        name: The cassette's, without its suffix.
        plays: What the loopback provider answers on a wire.
        text: What the call then returns, or yields before its error.
        error: How it ends, whoever answers; `None` for a normal end.
        stream: Whether it is a stream.
        asks: Keys of the request beside model and messages.
        prompt: The user's turn.
        wrong_key: Whether it is made with a key that no provider knows.
        provocable: Whether a real provider can be brought to answer so.
    """

    name: str
    plays: Callable[[Wire], Reply]
    text: str = ""
    error: type[ProviderResponseError] | None = None
    stream: bool = False
    asks: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = "Which tree is the tallest? Answer in one sentence."
    wrong_key: bool = False
    provocable: bool = True

    def request(self, adapter: Adapter) -> ModelRequest:
        """The request of the call."""
        return {"model": adapter.model, "messages": [{"role": "user", "content": self.prompt}], **self.asks}


SCENARIOS = (
    Scenario("completion", lambda wire: wire.completion(ANSWER), ANSWER.text),
    Scenario("stream", lambda wire: _stream(wire, ANSWER), ANSWER.text, stream=True),
    Scenario(
        "unauthorised",
        lambda wire: wire.error(wire.failures()["authentication"]),
        error=ModelAuthenticationError,
        wrong_key=True,
    ),
    Scenario(
        "rate-limited",
        lambda wire: wire.error(dataclasses.replace(wire.failures()["rate-limit"], headers={"retry-after": "7"})),
        error=ModelRateLimitError,
        provocable=False,
    ),
    Scenario("strict-output", lambda wire: wire.completion(STRICT_ANSWER), STRICT_ANSWER.text, asks=_strict()),
    Scenario(
        "strict-rejection",
        lambda wire: wire.error(next(iter(wire.rejections().values()))),
        error=StructuredOutputUnsupportedError,
        # Neither provider takes such a keyword in a strict schema.
        asks=_strict(maxProperties=1),
    ),
    Scenario(
        "truncated-answer",
        lambda wire: wire.completion(BROKEN_OFF),
        error=ProviderResponseError,
        asks={"max_tokens": 16},
        prompt="Tell the history of the coast redwoods.",
    ),
    Scenario(
        "truncated-stream",
        lambda wire: _stream(wire, BROKEN_OFF),
        BROKEN_OFF.text,
        ProviderResponseError,
        stream=True,
        asks={"max_tokens": 16},
        prompt="Tell the history of the coast redwoods.",
    ),
    Scenario(
        "cut-stream",
        lambda wire: _stream(wire, ANSWER, whole=False),
        ANSWER.text,
        ProviderResponseError,
        stream=True,
        provocable=False,
    ),
)

WIRES = tuple(sorted(ADAPTERS.keys() & set(wire_names())))
"""The wires of which the kit can play the provider."""


def cassette_path(wire: str, scenario: Scenario, directory: Path = DIRECTORY) -> Path:
    """Where the cassette of a scenario is kept."""
    return directory / wire / f"{scenario.name}.yaml"


def loopback_reply(wire: str, scenario: Scenario) -> Reply:
    """What the loopback provider answers."""
    return scenario.plays(find_wire(wire))
