"""OpenAI's responses, and the servers that speak the same protocol."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from treelang.transports.answer import AnswerState
from treelang.transports.openai import JSON_INSTRUCTION, asks_for_json, model_capabilities
from treelang.transports.request import CheckedRequest, FunctionTool
from treelang.transports.sdk import SDKTransport
from treelang.transports.usage import UsageRecord

# Output items by which the model calls one of the caller's tools, or waits for the caller's word. What the
# provider runs itself (search, code interpreter, remote tools) does not make the answer any less whole.
_CALLERS_ITEMS = frozenset(
    {
        "apply_patch_call",
        "computer_call",
        "custom_tool_call",
        "function_call",
        "local_shell_call",
        "mcp_approval_request",
    }
)


class OpenAIResponsesTransport(SDKTransport):
    """A transport over OpenAI's responses, with the extra `openai`.

    `client` is an `openai.AsyncOpenAI` or one of its kind; the other arguments are those of `SDKTransport`.
    """

    _sdk: ClassVar[str] = "openai"
    _client_class: ClassVar[str] = "AsyncOpenAI"
    _default_provider: ClassVar[str] = "openai"
    _recursive_schemas: ClassVar[bool] = True
    _natural_stops: ClassVar[frozenset[str]] = frozenset({"completed"})
    # Lifecycle events repeat the whole response, and none but the last says anything that is needed here.
    _skipped_events: ClassVar[frozenset[str]] = frozenset({"response.created", "response.in_progress"})
    _model_capabilities = staticmethod(model_capabilities)

    @property
    def _create(self) -> Callable[..., AbstractAsyncContextManager[Any]]:
        return self._client.responses.with_streaming_response.create  # type: ignore[no-any-return]  # the SDK's

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": request.model,
            "input": [{"role": message.role, "content": message.content} for message in request.messages],
        }
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        if request.max_tokens is not None:
            arguments["max_output_tokens"] = request.max_tokens
        if request.tools:
            arguments["tools"] = [_tool(tool) for tool in request.tools]
        if request.strict is not None:
            arguments["text"] = {"format": {"type": "json_schema", "strict": True} | request.strict.fields}
        elif request.json_mode:
            arguments["text"] = {"format": {"type": "json_object"}}
            if not asks_for_json(request):
                arguments["input"].append({"role": "user", "content": JSON_INSTRUCTION})
        return arguments

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        _read_response(body, answer, usage)
        if not isinstance(body.get("output"), list):
            answer.malformed = "it has no output"
        return _read_output(body, answer)

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        match event:
            case {"type": "response.output_text.delta", "delta": str(text)}:
                return text
            case {"type": "response.refusal.delta" | "response.refusal.done"}:
                answer.refused = True
            case {"type": "response.output_item.added" | "response.output_item.done", "item": {"type": str(kind)}}:
                answer.calls_tool = answer.calls_tool or kind in _CALLERS_ITEMS
            case {
                "type": "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" as kind
            }:
                response = event.get("response")
                response = response if isinstance(response, dict) else {}
                _read_response({"status": kind.removeprefix("response.")} | response, answer, usage)
                answer.over = True
                whole = _read_output(response, answer)
                # Some servers send the text with the closing event alone.
                return "" if answer.has_text else whole
        return ""


def _tool(tool: FunctionTool) -> dict[str, Any]:
    described = {} if tool.description is None else {"description": tool.description}
    # Without an explicit `strict` this wire would make the schema strict, and thereby another one.
    return {"type": "function", "name": tool.name, **described, "parameters": tool.parameters, "strict": False}


def _read_response(response: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> None:
    counters = response.get("usage")
    if isinstance(counters, dict):
        usage.report(counters.get("input_tokens"), counters.get("output_tokens"))
    if isinstance(status := response.get("status"), str):
        answer.finish = status
        answer.completed = True
    if status == "failed":
        answer.failure = response


def _read_output(response: dict[str, Any], answer: AnswerState) -> str:
    output = response.get("output")
    items = output if isinstance(output, list) else ()
    return "".join(_read_item(item, answer) for item in items if isinstance(item, dict))


def _read_item(item: dict[str, Any], answer: AnswerState) -> str:
    kind = item.get("type")
    if isinstance(kind, str) and kind in _CALLERS_ITEMS:
        answer.calls_tool = True
    content = item.get("content")
    if kind != "message" or not isinstance(content, list):
        return ""
    parts = [part for part in content if isinstance(part, dict)]
    if any(part.get("type") == "refusal" for part in parts):
        answer.refused = True
    try:
        return "".join(part["text"] for part in parts if part.get("type") == "output_text")
    except (KeyError, TypeError):
        answer.malformed = "a text part has no text"
        return ""
