"""A watched transport keeps the contract, and nothing that the kit sends through it comes out in an event."""

from __future__ import annotations

import collections

import pytest

from tests.adapters import ADAPTERS
from tests.treelang.observability.recording import RecordingSink
from treelang import ModelTransport, Observability, TraceSink
from treelang.observability import WatchedTransport
from treelang_conformance import Endpoint, Subject, canaries, run
from treelang_conformance.report import CheckOutcome


class Closing(WatchedTransport):
    """Closes the transport that it watches, since nobody else does here."""

    def __init__(self, inner: ModelTransport, sink: TraceSink) -> None:
        super().__init__(inner, Observability([sink]))
        self.aclose = inner.aclose  # type: ignore[attr-defined]  # every adapter has it


@pytest.mark.parametrize(
    ("wire", "select"),
    [
        (
            "openai-chat",
            ["CMP", "STR", "USE", "ERR-1", "ERR-4", "ERR-6", "ERR-9", "ERR-12", "CAN", "CAP", "FBK-2", "SEC"],
        ),
        ("anthropic-messages", ["USE", "CAP"]),  # it reports usage while a stream runs
    ],
)
def test_a_watched_transport_is_conformant_and_discreet(wire: str, select: list[str]) -> None:
    make = ADAPTERS[wire].make
    sink = RecordingSink()

    def watched(endpoint: Endpoint) -> ModelTransport:
        inner = make(endpoint)
        assert isinstance(inner, ModelTransport)
        return Closing(inner, sink)

    report = run(Subject(watched, name="watched"), wire=wire, select=select)
    outcomes = {check.id: check.outcome for clause in report.clauses for check in clause.checks}
    fine = {CheckOutcome.PASSED, CheckOutcome.NOT_APPLICABLE}
    assert {name: outcome for name, outcome in outcomes.items() if outcome not in fine} == {}

    told = repr(sink.events)
    assert [what for what, secret in canaries.ALL.items() if secret in told] == []
    ends = collections.Counter(
        attributes["call_id"] for name, attributes in sink.events if not name.endswith("started")
    )
    assert set(ends.values()) == {1}
    assert {name.rpartition(".")[2] for name in sink.names} >= {"started", "completed", "failed", "cancelled", "closed"}
