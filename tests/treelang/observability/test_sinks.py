"""Where events go: the log, sinks of one's own, and that none of them can break a call."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from tests.treelang.observability.recording import RecordingSink
from treelang import Observability, ScriptedTransport, TraceSink
from treelang.observability import LoggingSink

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def call(observability: Observability, script: list[Any]) -> str:
    return asyncio.run(observability.watch_transport(ScriptedTransport(script)).complete(REQUEST))


def test_without_sinks_events_are_lines_of_json_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "treelang.observability")
    assert call(Observability(), ["answer"]) == "answer"

    lines = [json.loads(record.getMessage()) for record in caplog.records]
    assert [line["event"] for line in lines] == ["model.request.started", "model.request.completed"]
    for record, line in zip(caplog.records, lines, strict=True):
        assert (record.name, record.levelno) == ("treelang.observability", logging.INFO)
        assert line == {"event": vars(record)["event"], **vars(record)["attributes"]}


def test_a_failure_is_a_warning_in_a_log_of_ones_own(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mine")
    observability = Observability([LoggingSink(logging.getLogger("mine"), level=logging.DEBUG)])
    with pytest.raises(RuntimeError):
        call(observability, [RuntimeError("no")])
    assert [(record.name, record.levelno) for record in caplog.records] == [
        ("mine", logging.DEBUG),
        ("mine", logging.WARNING),
    ]


def test_no_sinks_are_none_and_a_logger_and_a_tracer_are_added(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    call(Observability([]), ["answer"])
    assert caplog.records == []

    first, tracer = RecordingSink(), RecordingSink()
    call(Observability([first], logger=logging.getLogger("mine"), tracer=tracer), ["answer"])
    assert first.events == tracer.events
    assert len(first.events) == len(caplog.records) == 2


@pytest.mark.parametrize("failure", [ValueError("sk-abcdefghijklmnop"), asyncio.CancelledError()])
def test_a_sink_that_fails_breaks_no_call_and_is_told_of_once(
    failure: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        def record(self, event: str, attributes: Mapping[str, Any]) -> None:
            raise failure

    after = RecordingSink()
    assert call(Observability([Failing(), after]), ["answer"]) == "answer"
    assert after.names == ["model.request.started", "model.request.completed"]
    [warning] = caplog.records
    assert warning.getMessage() == (
        f"the sink Failing failed with {type(failure).__name__}; events may be missing from it, and this is said once"
    )


def test_a_sink_is_anything_that_records() -> None:
    assert isinstance(RecordingSink(), TraceSink)
    assert isinstance(LoggingSink(), TraceSink)
    assert not isinstance(object(), TraceSink)
