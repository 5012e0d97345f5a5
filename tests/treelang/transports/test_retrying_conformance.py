"""A transport that may retry keeps the contract: with one attempt everywhere, with three where nothing is retried."""

from __future__ import annotations

import pytest

from tests.adapters import ADAPTERS
from treelang import ModelTransport, RetryingTransport
from treelang_conformance import Endpoint, Subject, run
from treelang_conformance.report import CheckOutcome


class Closing(RetryingTransport):
    """Closes the transport that it retries, since nobody else does here."""

    def __init__(self, inner: ModelTransport, attempts: int) -> None:
        super().__init__(inner, attempts=attempts, first_delay=0.0)
        self.aclose = inner.aclose  # type: ignore[attr-defined]  # every adapter has it


@pytest.mark.parametrize(
    ("attempts", "select"),
    [
        (1, ["CMP-1", "CMP-2", "CMP-10", "STR", "ERR-1", "ERR-4", "ERR-7", "ERR-9", "ERR-12", "FBK-2", "SEC-2"]),
        (
            3,
            ["CMP-1", "CMP-3", "CMP-7", "CMP-9", "STR-2", "STR-10", "STR-14", "USE-6", "USE-8", "CAN", "CAP"],
        ),
    ],
)
def test_a_retrying_transport_is_conformant(attempts: int, select: list[str] | None) -> None:
    make = ADAPTERS["openai-chat"].make

    def retrying(endpoint: Endpoint) -> ModelTransport:
        inner = make(endpoint)
        assert isinstance(inner, ModelTransport)
        return Closing(inner, attempts)

    report = run(Subject(retrying, name="retrying"), wire="openai-chat", select=select)
    failed = [check.id for clause in report.clauses for check in clause.checks if check.outcome is CheckOutcome.FAILED]
    assert failed == []
