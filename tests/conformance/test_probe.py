"""The first build and the first call, which come before any check's bounds in time."""

from __future__ import annotations

from collections.abc import AsyncIterator

from treelang import ModelConnectionError, ModelRequest
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.probe import probe
from treelang_conformance.subject import Subject
from treelang_conformance.wires.discovery import find_wire


class Recording:
    """A transport that says what was done with it, and fails as one does that reaches nobody."""

    def __init__(self, done: list[str]) -> None:
        self.done = done

    async def complete(self, request: ModelRequest) -> str:
        self.done.append(f"asked {request['model']}")
        raise ModelConnectionError("nobody is there")

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        raise AssertionError("one call is enough")

    async def aclose(self) -> None:
        self.done.append("closed")


def test_a_transport_makes_a_call_that_is_not_judged_and_is_closed() -> None:
    done: list[str] = []
    wire = find_wire("openai-chat")

    def make(endpoint: Endpoint) -> Recording:
        done.append("made")
        return Recording(done)

    assert probe(Subject(make, name="recording"), wire) == "Recording"
    assert done == ["made", f"asked {wire.model}", "closed"]
