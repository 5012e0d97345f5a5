"""Anthropic's messages, and the servers that speak the same protocol."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from treelang.transports.answer import AnswerState, texts_of
from treelang.transports.contract import ModelCapabilities
from treelang.transports.request import CheckedRequest, FunctionTool
from treelang.transports.sdk import SDKTransport
from treelang.transports.usage import UsageRecord

_DEFAULT_MAX_TOKENS = 8192
"""Tokens of output where the request gives no `max_tokens`, which this wire demands."""

_JSON_INSTRUCTION = "Answer with a JSON object and nothing else: no words around it, no code fence."

_STRICT = ModelCapabilities(strict_json_schema=True)
_TEMPERATURE = ModelCapabilities(temperature=True)
_STRICT_AND_TEMPERATURE = ModelCapabilities(strict_json_schema=True, temperature=True)

# The first pattern that fits the whole name decides; a dated snapshot counts as its model.
_MODELS: tuple[tuple[re.Pattern[str], ModelCapabilities], ...] = tuple(
    (re.compile(rf"claude-(?:{pattern})(?:-\d{{8}}|-latest)?", re.ASCII), capabilities)
    for pattern, capabilities in (
        (r"(haiku|sonnet|opus)-4-5|(opus|sonnet)-4-6|opus-4-1", _STRICT_AND_TEMPERATURE),
        (r"opus-4-[78]|(opus|sonnet)-5|(opus|sonnet|haiku)-5-5", _STRICT),
        (r"(fable|mythos)-5(-[12])?|mythos-preview", _STRICT),
        (r"(opus|sonnet)-4(-0)?|3-(haiku|sonnet|opus)|3-[57]-(haiku|sonnet)", _TEMPERATURE),
    )
)


def model_capabilities(model: str) -> ModelCapabilities:
    """Return what an Anthropic model takes by default; an unknown one nothing (CAP-2)."""
    return next((known for pattern, known in _MODELS if pattern.fullmatch(model)), ModelCapabilities())


class AnthropicTransport(SDKTransport):
    """A transport over Anthropic's messages, with the extra `anthropic`.

    `client` is an `anthropic.AsyncAnthropic` or one of its kind; the other arguments are those of `SDKTransport`.
    """

    _sdk: ClassVar[str] = "anthropic"
    _client_class: ClassVar[str] = "AsyncAnthropic"
    _default_provider: ClassVar[str] = "anthropic"
    _natural_stops: ClassVar[frozenset[str]] = frozenset({"end_turn", "stop_sequence"})
    _model_capabilities = staticmethod(model_capabilities)

    @property
    def _create(self) -> Callable[..., AbstractAsyncContextManager[Any]]:
        return self._client.messages.with_streaming_response.create  # type: ignore[no-any-return]  # the SDK's

    @staticmethod
    def _has_credential(client: Any) -> bool:
        # This SDK builds a client without one, and refuses the first request with a TypeError.
        named = {name.lower() for name in client.default_headers}
        return bool(named & {"x-api-key", "authorization"}) or getattr(client, "credentials", None) is not None

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_tokens or _DEFAULT_MAX_TOKENS,
            "messages": [{"role": message.role, "content": message.content} for message in request.turns],
            # Given explicitly, or the SDK refuses a large `max_tokens` that the provider would serve.
            "timeout": self._client.timeout,
        }
        system = list(request.system)
        if request.json_mode:
            # The wire has no JSON mode, so the request asks in words (FBK-12).
            system.append(_JSON_INSTRUCTION)
        if system:
            arguments["system"] = [{"type": "text", "text": text} for text in system]
        if request.temperature is not None:
            # `create` has no such parameter since version 1 of the SDK; the models that take one still do.
            arguments["extra_body"] = {"temperature": request.temperature}
        if request.tools:
            arguments["tools"] = [_tool(tool) for tool in request.tools]
        if request.strict is not None:
            arguments["output_config"] = {"format": {"type": "json_schema", "schema": request.strict.schema}}
        return arguments

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        _read_usage(body.get("usage"), usage)
        _read_stop_reason(body, answer)
        answer.completed = True
        content = body.get("content")
        if not isinstance(content, list):
            answer.malformed = "it has no content"
            return ""
        answer.calls_tool = any(isinstance(block, dict) and block.get("type") == "tool_use" for block in content)
        text = texts_of(content)
        if text is None:
            answer.malformed = "a text block has no text"
        return text or ""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        match event:
            case {"type": "message_start", "message": {"usage": counters}}:
                _read_usage(counters, usage)
            case {"type": "content_block_start", "content_block": {"type": "tool_use"}}:
                answer.calls_tool = True
            case {"type": "content_block_start", "content_block": {"type": "text", "text": str(text)}}:
                return text
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                return text
            case {"type": "message_delta"}:
                _read_stop_reason(event.get("delta"), answer)
                _read_usage(event.get("usage"), usage)
            case {"type": "message_stop"}:
                answer.completed = answer.over = True
        return ""


def _tool(tool: FunctionTool) -> dict[str, Any]:
    described = {} if tool.description is None else {"description": tool.description}
    return {"name": tool.name, **described, "input_schema": tool.parameters or {"type": "object", "properties": {}}}


def _read_usage(counters: Any, usage: UsageRecord) -> None:
    if isinstance(counters, dict):
        usage.report(counters.get("input_tokens"), counters.get("output_tokens"))


def _read_stop_reason(part: Any, answer: AnswerState) -> None:
    if isinstance(part, dict) and isinstance(reason := part.get("stop_reason"), str):
        answer.finish = reason
