"""Reading a model request: checked once, made of plain values, so that an adapter only has to map it (CMP-3, CMP-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from treelang.errors import ModelRequestError
from treelang.transports.contract import ModelRequest

_KEYS = frozenset({"model", "messages", "temperature", "max_tokens", "tools", "response_format"})
_LARGEST = 1e300
"""Beyond it a number is no finite one in JSON as others read it."""

_ROLES = frozenset({"system", "user", "assistant"})


@dataclass(frozen=True, slots=True)
class Message:
    """One system text or turn; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """One of the caller's tools; `parameters` is a JSON Schema of plain values, or `None` where none was given."""

    name: str
    description: str | None
    parameters: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class StrictSchema:
    """A schema that the answer must follow."""

    name: str
    schema: dict[str, Any]
    description: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """What was given, by the names that OpenAI's wires have for it too."""
        described = {} if self.description is None else {"description": self.description}
        return {"name": self.name, "schema": self.schema, **described}


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request that a wire can express. What the caller did not give is `None` or empty (CMP-5)."""

    model: str
    messages: tuple[Message, ...]
    temperature: float | None
    max_tokens: int | None
    tools: tuple[FunctionTool, ...]
    json_mode: bool
    strict: StrictSchema | None

    @property
    def contents(self) -> str:
        """Everything of the request that is private: texts, tools, schema."""
        return f"{[message.content for message in self.messages]}\n{self.tools}\n{self.strict}"

    @property
    def system(self) -> tuple[str, ...]:
        """The system texts in order."""
        return tuple(message.content for message in self.messages if message.role == "system")

    @property
    def turns(self) -> tuple[Message, ...]:
        """The user and assistant turns in order."""
        return tuple(message for message in self.messages if message.role != "system")


def check_request(request: ModelRequest, provider: str) -> CheckedRequest:
    """Return `request` as plain values that share nothing with it.

    Raises:
        ModelRequestError: Where the request is malformed; the message names the place and never a content (SEC-1).
    """
    try:
        return _read_request(request)
    except _MalformedError as malformed:
        raise ModelRequestError(f"The model request was not sent: {malformed}.", provider=provider) from None


class _MalformedError(Exception):
    """What is wrong, and where, in words without contents."""


def _refuse(place: str, demand: str) -> NoReturn:
    raise _MalformedError(f"{place} {demand}")


def _read_request(request: Any) -> CheckedRequest:
    if not isinstance(request, Mapping):
        _refuse("it", "must be a mapping")
    if not _KEYS.issuperset(request):
        # The keys are the caller's own words, so none of them is repeated here.
        _refuse("it", f"may have only the keys {', '.join(sorted(_KEYS))}")
    json_mode, strict = _read_response_format(request.get("response_format"))
    return CheckedRequest(
        model=_text(request.get("model"), "model"),
        messages=tuple(_read_messages(request.get("messages"))),
        temperature=_read_temperature(request.get("temperature")),
        max_tokens=_read_max_tokens(request.get("max_tokens")),
        tools=tuple(_read_tools(request.get("tools"))),
        json_mode=json_mode,
        strict=strict,
    )


def _read_messages(messages: Any) -> list[Message]:
    if not _is_sequence(messages) or not messages:
        _refuse("messages", "must be a list with at least one message")
    return [_read_message(message, f"messages[{index}]") for index, message in enumerate(messages)]


def _read_message(message: Any, place: str) -> Message:
    if not isinstance(message, Mapping):
        _refuse(place, "must be a mapping")
    if not {"role", "content"}.issuperset(message):
        _refuse(place, "may have only the keys content, role")
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or role not in _ROLES:
        _refuse(f"{place}.role", "must be system, user or assistant")
    if not isinstance(content, str):
        _refuse(f"{place}.content", "must be text")
    return Message(role, _encodable(content, f"{place}.content"))


def _read_temperature(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST < value < _LARGEST:
        _refuse("temperature", "must be a finite number")
    return value


def _read_max_tokens(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < _LARGEST:
        _refuse("max_tokens", "must be an integer of at least 1")
    return value


def _read_tools(tools: Any) -> list[FunctionTool]:
    if tools is None:
        return []
    if not _is_sequence(tools):
        _refuse("tools", "must be a list")
    read = [_read_tool(tool, f"tools[{index}]") for index, tool in enumerate(tools)]
    if len({tool.name for tool in read}) < len(read):
        _refuse("tools", "must have unique names")
    return read


def _read_tool(tool: Any, place: str) -> FunctionTool:
    if not isinstance(tool, Mapping) or tool.get("type") != "function" or set(tool) != {"type", "function"}:
        _refuse(place, 'must be {"type": "function", "function": {...}}')
    function = tool["function"]
    if not isinstance(function, Mapping) or not {"name", "description", "parameters"}.issuperset(function):
        _refuse(f"{place}.function", "must be a mapping with the keys name, description, parameters")
    parameters = function.get("parameters")
    return FunctionTool(
        name=_text(function.get("name"), f"{place}.function.name"),
        description=_description(function.get("description"), f"{place}.function.description"),
        parameters=None if parameters is None else _schema(parameters, f"{place}.function.parameters"),
    )


def _read_response_format(value: Any) -> tuple[bool, StrictSchema | None]:
    if value is None:
        return False, None
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind == "json_schema":
        return False, _read_strict(value.get("json_schema"))
    if kind == "json_object" or kind == "text":
        return kind == "json_object", None
    _refuse("response_format.type", "must be text, json_object or json_schema")


def _read_strict(value: Any) -> StrictSchema:
    place = "response_format.json_schema"
    if not isinstance(value, Mapping) or not {"name", "description", "strict", "schema"}.issuperset(value):
        _refuse(place, "must be a mapping with the keys name, strict, schema")
    return StrictSchema(
        name=_text(value.get("name"), f"{place}.name"),
        schema=_schema(value.get("schema"), f"{place}.schema"),
        description=_description(value.get("description"), f"{place}.description"),
    )


def _schema(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        _refuse(place, "must be a JSON Schema object")
    try:
        plain: dict[str, Any] = _plain(value, place)
    except RecursionError:
        _refuse(place, "is nested too deep to be sent")
    return plain


def _plain(value: Any, place: str) -> Any:
    """JSON values as dicts and lists, so that read-only mappings and tuples can be serialised."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            _refuse(place, "must have text keys throughout")
        return {_encodable(key, place): _plain(item, place) for key, item in value.items()}
    if isinstance(value, str):
        return _encodable(value, place)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        if not -_LARGEST < value < _LARGEST:
            _refuse(place, "must hold finite numbers only")
        return value
    if _is_sequence(value):
        return [_plain(item, place) for item in value]
    _refuse(place, "must be made of JSON values")


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value:
        _refuse(place, "must be a non-empty text")
    return _encodable(value, place)


def _description(value: Any, place: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        _refuse(place, "must be text")
    return _encodable(value, place)


def _encodable(text: str, place: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        _refuse(place, "must be text without lone surrogates")
    return text


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)
