"""Events as spans in OpenTelemetry's conventions for generative AI, as the SDK's in-memory exporter gets them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from treelang import (
    Arborist,
    ArboristConfig,
    FunctionToolProvider,
    ModelRateLimitError,
    ModelUsage,
    Observability,
    ScriptedReply,
    ScriptedTransport,
)
from treelang.observability import OpenTelemetrySink

REQUEST = {
    "model": "gpt-4.1",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which tree?"}],
    "temperature": 0.5,
    "max_tokens": 100,
}
REPLY = ScriptedReply(("red", "wood"), ModelUsage(11, 7, reported=True))


class Spans:
    """A sink for OpenTelemetry, and what the SDK exports of it."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def watching(self, *, allow_content: bool = False) -> Observability:
        return Observability([OpenTelemetrySink(self.provider)], allow_content=allow_content)

    @property
    def finished(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def only(self) -> ReadableSpan:
        [span] = self.finished
        return span


def attributes_of(span: ReadableSpan) -> Mapping[str, Any]:
    assert span.attributes is not None
    return span.attributes


def test_a_completion_is_a_client_span_with_the_conventions_attributes_and_no_content() -> None:
    spans = Spans()
    asyncio.run(spans.watching().watch_transport(ScriptedTransport([REPLY])).complete(REQUEST))

    assert (spans.only.name, spans.only.kind) == ("chat gpt-4.1", trace.SpanKind.CLIENT)
    assert spans.only.status.status_code is trace.StatusCode.UNSET
    assert dict(attributes_of(spans.only)) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "gpt-4.1",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.request.stream": False,
        "gen_ai.output.type": "text",
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "treelang.output_characters": 7,
    }


def test_content_that_is_opted_in_to_stands_in_the_conventions_form() -> None:
    spans = Spans()
    asyncio.run(spans.watching(allow_content=True).watch_transport(ScriptedTransport([REPLY])).complete(REQUEST))

    told = attributes_of(spans.only)
    assert json.loads(told["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(told["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "Which tree?"}]}
    ]
    assert json.loads(told["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "redwood"}], "finish_reason": "stop"}
    ]


def test_a_failed_call_is_a_span_with_an_error() -> None:
    spans = Spans()
    failure = ModelRateLimitError("redwood", provider="scripted", status_code=429)
    with pytest.raises(ModelRateLimitError):
        asyncio.run(spans.watching().watch_transport(ScriptedTransport([failure])).complete(REQUEST))
    assert spans.only.status.status_code is trace.StatusCode.ERROR
    assert attributes_of(spans.only)["error.type"] == "ModelRateLimitError"
    assert "redwood" not in spans.only.to_json()


def test_a_stream_is_not_the_span_of_what_its_consumer_does() -> None:
    spans = Spans()

    async def exchange() -> None:
        stream: Any = spans.watching().watch_transport(ScriptedTransport([REPLY])).stream(REQUEST)
        async with contextlib.aclosing(stream):
            assert await anext(stream) == "red"
            assert trace.get_current_span() is trace.INVALID_SPAN

    asyncio.run(exchange())
    assert attributes_of(spans.only)["gen_ai.request.stream"] is True
    assert attributes_of(spans.only)["treelang.chunk_count"] == 1
    assert spans.only.status.status_code is trace.StatusCode.UNSET  # to close a stream early is no failure


def test_a_cancelled_call_ends_its_span_with_an_error() -> None:
    class Cancelled:
        async def complete(self, request: Any) -> str:
            raise asyncio.CancelledError

        def stream(self, request: Any) -> Any:
            raise NotImplementedError

    async def exchange() -> None:
        with pytest.raises(asyncio.CancelledError):
            await spans.watching().watch_transport(Cancelled()).complete(REQUEST)

    spans = Spans()
    asyncio.run(exchange())
    assert spans.only.status.status_code is trace.StatusCode.ERROR
    assert attributes_of(spans.only)["error.type"] == "cancelled"


def test_an_evaluation_is_one_trace_of_the_model_and_of_every_tool() -> None:
    spans = Spans()
    inside: list[trace.Span] = []

    def height(tree: str) -> float:
        inside.append(trace.get_current_span())
        return 115.9

    call = {"type": "function", "name": "height", "params": [{"type": "value", "name": "tree", "value": "oak"}]}
    program = json.dumps({"type": "program", "mode": "single", "body": [call], "schema_version": "1.0"})
    arborist = Arborist(
        "gpt-4.1",
        FunctionToolProvider([height]),
        config=ArboristConfig("gpt-4.1", schema_version="1.0"),
        transport=ScriptedTransport([program]),
        observability=spans.watching(),
    )
    assert asyncio.run(arborist.eval("How high is an oak?")).content == 115.9

    by_name = {span.name: span for span in spans.finished}
    assert set(by_name) == {"invoke_agent", "tool.listing", "chat gpt-4.1", "tool.lookup height", "execute_tool height"}
    root = by_name.pop("invoke_agent")
    assert root.parent is None
    assert [event.name for event in root.events] == ["model.structured_output.selected"]
    assert {span.parent and span.parent.span_id for span in by_name.values()} == {root.context.span_id}
    assert [span.get_span_context() for span in inside] == [by_name["execute_tool height"].context]
    assert attributes_of(by_name["execute_tool height"])["gen_ai.tool.name"] == "height"
    assert "oak" not in "".join(span.to_json() for span in spans.finished)


def test_without_opentelemetry_the_error_names_the_extra() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
import treelang.observability
try:
    treelang.observability.OpenTelemetrySink
except treelang.MissingDependencyError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == (
        "OpenTelemetrySink needs the OpenTelemetry API, which is not installed: pip install 'treelang[otel]'\n"
    )
