"""Secrets planted all over an evaluation, looked for in everything that comes out of it (SEC-4)."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.treelang.observability.planted import credential_texts, leaked, unmistakable_secrets
from tests.treelang.observability.recording import RecordingSink
from treelang import (
    Arborist,
    ArboristConfig,
    ModelTransportError,
    Observability,
    ScriptedTransport,
    ToolDefinition,
    ToolNotFoundError,
    ToolOutput,
    ToolProvider,
)
from treelang.observability import LoggingSink, OpenTelemetrySink


class Outlets:
    """Everywhere that events go, and what came there as texts."""

    def __init__(self, *, allow_content: bool) -> None:
        self.recording = RecordingSink()
        self.exporter = InMemorySpanExporter()
        self.lines: list[str] = []
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        logger = logging.Logger("outlet")
        handler = logging.Handler()
        handler.emit = lambda record: self.lines.append(record.getMessage())  # type: ignore[method-assign]  # brief
        logger.addHandler(handler)
        self.observability = Observability(
            [self.recording, OpenTelemetrySink(tracers), LoggingSink(logger)], allow_content=allow_content
        )

    def everything(self) -> list[Any]:
        spans = [json.loads(span.to_json()) for span in self.exporter.get_finished_spans()]
        return [self.recording.events, spans, self.lines]


class Echo(ToolProvider):
    """One tool, whose result and whose failure hold what it was given."""

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails

    async def list_tools(self) -> list[ToolDefinition]:
        return [ToolDefinition(name="echo", properties={"text": {"type": "string"}})]

    async def get_tool_definition(self, name: str) -> ToolDefinition:
        if name != "echo":
            raise ToolNotFoundError(f"there is no tool {name!r}")
        return (await self.list_tools())[0]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        if self._fails:
            raise ValueError(f"cannot say {arguments['text']}")
        return ToolOutput(content={"said": arguments["text"]})


def program(text: str) -> str:
    call = {"type": "function", "name": "echo", "params": [{"type": "value", "name": "text", "value": text}]}
    return json.dumps({"type": "program", "mode": "single", "body": [call], "schema_version": "1.0"})


def evaluate(outlets: Outlets, question: str, text: str, *, model_fails: bool, tool_fails: bool) -> None:
    """An evaluation with a text in the question, in an answer that is refused, in a call and in a failure."""
    failing = ModelTransportError(f"the provider said {text}", provider="scripted")
    failing.__cause__ = OSError(text)
    arborist = Arborist(
        "m",
        Echo(fails=tool_fails),
        config=ArboristConfig("m", schema_version="1.0"),
        transport=ScriptedTransport([f"no program: {text}", failing if model_fails else program(text)]),
        observability=outlets.observability,
    )
    try:
        asyncio.run(arborist.eval(question))
    except Exception:
        assert model_fails or tool_fails
    else:
        assert not model_fails
        assert not tool_fails


@settings(max_examples=60, deadline=None)
@given(credential_texts(unmistakable_secrets), st.booleans(), st.booleans(), st.booleans())
def test_no_credential_comes_out_wherever_it_stood(
    planted: tuple[str, str], allow_content: bool, model_fails: bool, tool_fails: bool
) -> None:
    secret, text = planted
    outlets = Outlets(allow_content=allow_content)
    evaluate(outlets, text, text, model_fails=model_fails, tool_fails=tool_fails)
    assert leaked(secret, outlets.everything()) == []


@settings(max_examples=60, deadline=None)
@given(unmistakable_secrets, unmistakable_secrets, st.booleans(), st.booleans())
def test_by_default_no_content_comes_out(question: str, text: str, model_fails: bool, tool_fails: bool) -> None:
    outlets = Outlets(allow_content=False)
    evaluate(outlets, f"What of {question}?", f"It is {text}.", model_fails=model_fails, tool_fails=tool_fails)
    assert leaked(question, outlets.everything()) == leaked(text, outlets.everything()) == []


@settings(max_examples=10, deadline=None)
@given(unmistakable_secrets)
def test_the_search_finds_content_that_is_opted_in_to(text: str) -> None:
    outlets = Outlets(allow_content=True)
    evaluate(outlets, text, text, model_fails=False, tool_fails=False)
    events, spans, lines = outlets.everything()
    assert leaked(text, events)
    assert leaked(text, spans)
    assert leaked(text, lines)
