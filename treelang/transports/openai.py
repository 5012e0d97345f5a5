"""OpenAI's chat completions, and the many servers that speak the same protocol."""

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

JSON_INSTRUCTION = "Answer with a JSON object."
"""What is said in JSON mode where no message has the word that the provider demands (FBK-12)."""

_STRICT = ModelCapabilities(strict_json_schema=True)
_TEMPERATURE = ModelCapabilities(temperature=True)
_STRICT_AND_TEMPERATURE = ModelCapabilities(strict_json_schema=True, temperature=True)

# The first pattern that fits the whole name decides; a dated snapshot counts as its model. Models that always
# reason take no temperature, and those that reason unless told otherwise take none by default.
_MODELS: tuple[tuple[re.Pattern[str], ModelCapabilities], ...] = tuple(
    (re.compile(rf"(?:{pattern})(?:-\d{{4}}-\d{{2}}-\d{{2}})?", re.ASCII), capabilities)
    for pattern, capabilities in (
        (r"gpt-4o-2024-05-13|chatgpt-4o-latest|gpt-4o(-mini)?-audio-preview", _TEMPERATURE),
        (r"gpt-4|gpt-4-(0\d{3}|32k|turbo|turbo-preview|\d{4}-preview)|gpt-3\.5-turbo(-\w+)?", _TEMPERATURE),
        (r"gpt-4o(-mini)?|gpt-4\.1(-mini|-nano)?", _STRICT_AND_TEMPERATURE),
        (r"gpt-5-chat-latest", _TEMPERATURE),
        (r"gpt-5\.[1234]|gpt-5\.4-(mini|nano)", _STRICT_AND_TEMPERATURE),
        (r"(o1|o3|o4-mini|o3-mini)(-pro)?", _STRICT),
        (r"gpt-5(-mini|-nano|-pro|-codex)?|gpt-5\.[123](-pro|-codex|-codex-mini|-codex-max|-chat-latest)", _STRICT),
        (r"gpt-5\.5|gpt-5\.6-(sol|terra|luna)|gpt-6-(astra|sol|luna)|gpt-6\.1-(sol|terra)", _STRICT),
    )
)

_REASONING_MODEL = re.compile(r"(o\d|gpt-5|gpt-6)")


def model_capabilities(model: str) -> ModelCapabilities:
    """Return what an OpenAI model takes by default; an unknown one nothing (CAP-2)."""
    return next((known for pattern, known in _MODELS if pattern.fullmatch(model)), ModelCapabilities())


class OpenAITransport(SDKTransport):
    """A transport over OpenAI's chat completions, with the extra `openai`.

    `client` is an `openai.AsyncOpenAI` or one of its kind; the other arguments are those of `SDKTransport`.
    """

    _sdk: ClassVar[str] = "openai"
    _client_class: ClassVar[str] = "AsyncOpenAI"
    _default_provider: ClassVar[str] = "openai"
    _recursive_schemas: ClassVar[bool] = True
    _natural_stops: ClassVar[frozenset[str]] = frozenset({"stop", "eos"})
    _model_capabilities = staticmethod(model_capabilities)

    @property
    def _create(self) -> Callable[..., AbstractAsyncContextManager[Any]]:
        return self._client.chat.completions.with_streaming_response.create  # type: ignore[no-any-return]  # the SDK's

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        }
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        if request.max_tokens is not None:
            # Reasoning models refuse the older name, and many compatible servers know no other.
            reasons = _REASONING_MODEL.match(request.model) is not None
            arguments["max_completion_tokens" if reasons else "max_tokens"] = request.max_tokens
        if request.tools:
            arguments["tools"] = [_tool(tool) for tool in request.tools]
        if request.strict is not None:
            schema = {"strict": True} | request.strict.fields
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.json_mode:
            arguments["response_format"] = {"type": "json_object"}
            if not asks_for_json(request):
                arguments["messages"].append({"role": "user", "content": JSON_INSTRUCTION})
        return arguments

    def _stream_arguments(self) -> dict[str, Any]:
        return {"stream": True, "stream_options": {"include_usage": True}}

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        _read_usage(body, usage)
        choice = _first_choice(body)
        if choice is None:
            answer.malformed = "it has no choices"
            return ""
        return _read_choice(choice, "message", answer)

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        _read_usage(event, usage)
        choice = _first_choice(event)
        return "" if choice is None else _read_choice(choice, "delta", answer)


def asks_for_json(request: CheckedRequest) -> bool:
    """Whether a message has the word without which OpenAI refuses JSON mode (FBK-12)."""
    return any("json" in message.content.lower() for message in request.messages)


def _tool(tool: FunctionTool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    return {"type": "function", "function": function}


def _read_usage(body: dict[str, Any], usage: UsageRecord) -> None:
    counters = body.get("usage")
    if isinstance(counters, dict):
        usage.report(counters.get("prompt_tokens"), counters.get("completion_tokens"))


def _first_choice(body: dict[str, Any]) -> dict[str, Any] | None:
    choices = body.get("choices")
    if not isinstance(choices, list):
        return None
    return next((choice for choice in choices if isinstance(choice, dict) and choice.get("index") in (0, None)), None)


def _read_choice(choice: dict[str, Any], part: str, answer: AnswerState) -> str:
    if (reason := choice.get("finish_reason")) and isinstance(reason, str):
        answer.finish = reason
        # The reason is the sign of completion: some servers end the stream without `[DONE]`.
        answer.completed = True
    if choice.get("error"):
        answer.failure = choice
    message = choice.get(part)
    if not isinstance(message, dict):
        return ""
    if message.get("tool_calls") or message.get("function_call"):
        answer.calls_tool = True
    content = message.get("content")
    if message.get("refusal") or _has_refusal(content):
        answer.refused = True
    text = texts_of(content) if content is not None else ""
    if text is None:
        answer.malformed = "its content is neither text nor a list of text parts"
    return text or ""


def _has_refusal(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") == "refusal" for part in content
    )
