"""Events as spans in the semantic conventions of OpenTelemetry for generative AI.

Those conventions are still in development; what is written here are the attributes of version 1.41.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from treelang._version import __version__
from treelang.errors import MissingDependencyError
from treelang.observability.credentials import REDACTED

try:
    from opentelemetry import context, trace
except ImportError as error:
    raise MissingDependencyError(
        "OpenTelemetrySink needs the OpenTelemetry API, which is not installed: pip install 'treelang[otel]'"
    ) from error

_ATTRIBUTES = {
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "temperature": "gen_ai.request.temperature",
    "max_tokens": "gen_ai.request.max_tokens",
    "output_type": "gen_ai.output.type",
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
    "time_to_first_chunk_seconds": "gen_ai.response.time_to_first_chunk",
    "tool_name": "gen_ai.tool.name",
    "arguments": "gen_ai.tool.call.arguments",
    "result": "gen_ai.tool.call.result",
    "error_type": "error.type",
}
"""The conventions' names for attributes of events; all others stand under `treelang.`."""

_OPERATIONS = {
    "model.request": "chat",
    "model.stream": "chat",
    "tool.call": "execute_tool",
    "arborist.eval": "invoke_agent",
}
_STREAM = "model.stream"
_SUCCESSES = frozenset({"completed", "closed"})
_UNTOLD = frozenset({"call_id", "parent_id", "duration_seconds", "messages", "output", "tools", "error"})
"""Attributes that a span has in another form: its own identity and times, and content in the conventions' schemas."""


class OpenTelemetrySink:
    """Makes a span of each call, with the attributes of the GenAI semantic conventions.

    Spans of model requests are named `chat {model}`, those of tool calls `execute_tool {tool}`, the arborist's
    `invoke_agent`. Other events become events of the current span. While a call runs, its span is the current one, so
    that spans of the HTTP client and of tools stand below it; a stream's is not, since its consumer has steps between.

    Args:
        tracer_provider: Where spans are made; the global provider by default.

    Raises:
        MissingDependencyError: The package `opentelemetry-api` is not installed.
    """

    def __init__(self, tracer_provider: trace.TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer("treelang", __version__, tracer_provider)
        self._open: dict[str, _OpenSpan] = {}
        self._lock = threading.Lock()

    def record(self, event: str, attributes: Mapping[str, Any]) -> None:
        """Begin or end the span of a call, or add an event to the current span."""
        name, _, step = event.rpartition(".")
        call_id = attributes.get("call_id")
        if call_id is None:
            told = _converted(attributes)
            trace.get_current_span().add_event(event, told)
        elif step == "started":
            self._begin(call_id, name, attributes)
        else:
            self._end(call_id, step, attributes)

    def _begin(self, call_id: str, name: str, attributes: Mapping[str, Any]) -> None:
        operation = _OPERATIONS.get(name)
        told = _converted(attributes)
        if operation is not None:
            told["gen_ai.operation.name"] = operation
        if operation == "chat":
            told["gen_ai.request.stream"] = name == _STREAM
        if operation == "execute_tool":
            told["gen_ai.tool.type"] = "function"
        subject = attributes.get("tool_name") or (attributes.get("model") if operation == "chat" else None)
        span = self._tracer.start_span(
            " ".join(filter(None, (operation or name, subject))),
            kind=trace.SpanKind.CLIENT if operation == "chat" else trace.SpanKind.INTERNAL,
            attributes=told,
        )
        token = None if name == _STREAM else context.attach(trace.set_span_in_context(span))
        with self._lock:
            self._open[call_id] = _OpenSpan(span, token)

    def _end(self, call_id: str, step: str, attributes: Mapping[str, Any]) -> None:
        with self._lock:
            opened = self._open.pop(call_id, None)
        if opened is None:
            return
        span, token = opened
        # A coroutine that is closed by the garbage collector ends in a foreign context, where nothing was attached.
        if token is not None and trace.get_current_span() is span:
            context.detach(token)
        span.set_attributes(_converted(attributes))
        if step not in _SUCCESSES:
            kind = attributes.get("error_type") or step
            span.set_attribute("error.type", kind)
            span.set_status(trace.StatusCode.ERROR, _description(attributes))
        span.end()


class _OpenSpan(NamedTuple):
    span: trace.Span
    token: Any
    """What detaches the span from the context, where it was attached."""


def _converted(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by the conventions' names and in the types that OpenTelemetry has."""
    told = {
        _ATTRIBUTES.get(name, f"treelang.{name}"): _value(value)
        for name, value in attributes.items()
        if name not in _UNTOLD and value is not None and value != REDACTED
    }
    messages = attributes.get("messages")
    if isinstance(messages, list):
        system = [message for message in messages if _role(message) == "system"]
        turns = [message for message in messages if _role(message) != "system"]
        told["gen_ai.input.messages"] = json.dumps([{"role": _role(turn), "parts": _parts(turn)} for turn in turns])
        if system:
            told["gen_ai.system_instructions"] = json.dumps([part for message in system for part in _parts(message)])
    output = attributes.get("output")
    if isinstance(output, str) and output != REDACTED:
        parts = [{"type": "text", "content": output}]
        told["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}])
    tools = attributes.get("tools")
    if isinstance(tools, list):
        told["gen_ai.tool.definitions"] = json.dumps([_definition(tool) for tool in tools])
    return told


def _value(value: Any) -> Any:
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value
    return json.dumps(value)


def _role(message: Any) -> str:
    return str(message.get("role")) if isinstance(message, Mapping) else "user"


def _parts(message: Any) -> list[dict[str, Any]]:
    content = message.get("content") if isinstance(message, Mapping) else message
    return [{"type": "text", "content": content}]


def _definition(tool: Any) -> Any:
    """A tool of a request in the conventions' form: flat, with the type beside the name."""
    function = tool.get("function") if isinstance(tool, Mapping) else None
    return {"type": "function", **function} if isinstance(function, Mapping) else tool


def _description(attributes: Mapping[str, Any]) -> str | None:
    error = attributes.get("error")
    return "; ".join(map(str, error)) if isinstance(error, list) else None
