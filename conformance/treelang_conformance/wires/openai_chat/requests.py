"""Received chat completion requests as neutral ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treelang_conformance.neutral import ReadMessage, ReadRequest, ReadTool
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.wires.reading import (
    as_boolean,
    as_integer,
    as_number,
    as_object,
    as_some_items,
    as_string,
    as_text,
    optional,
    optional_items,
    read_body,
)

_SYSTEM_ROLES = frozenset({"system", "developer"})
_TURN_ROLES = frozenset({"user", "assistant"})


def read(request: RecordedRequest, path: str) -> ReadRequest:
    """Translate a request; raises `ValueError` saying what is not of this protocol."""
    body = read_body(request, path)
    messages = as_some_items(body.get("messages"), "messages", _read_message)
    output, schema_name, schema = _read_format(body)
    stream = optional(body, "stream", as_boolean) or False
    return ReadRequest(
        model=as_string(body.get("model"), "model"),
        system=[message.text for message in messages if message.role in _SYSTEM_ROLES],
        turns=[message for message in messages if message.role in _TURN_ROLES],
        stream=stream,
        temperature=optional(body, "temperature", as_number),
        max_tokens=_read_max_tokens(body),
        tools=optional_items(body, "tools", _read_tool),
        output=output,
        schema=schema,
        schema_name=schema_name,
        asks_usage=_read_asks_usage(body, stream),
    )


def _read_message(value: Any, where: str) -> ReadMessage:
    message = as_object(value, where)
    role = as_string(message.get("role"), f"{where}.role")
    if role not in _SYSTEM_ROLES | _TURN_ROLES:
        raise ValueError(f"{where}.role must be system, developer, user or assistant, not {role!r}")
    return ReadMessage(role, as_text(message.get("content"), f"{where}.content"))


def _read_max_tokens(body: Mapping[str, Any]) -> int | None:
    given = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
    if len(given) > 1:
        raise ValueError("max_tokens and max_completion_tokens must not both be given")
    return optional(body, given[0], as_integer) if given else None


def _read_tool(value: Any, where: str) -> ReadTool:
    tool = as_object(value, where)
    if tool.get("type") != "function":
        raise ValueError(f"{where}.type must be 'function', not {tool.get('type')!r}")
    function = as_object(tool.get("function"), f"{where}.function")
    return ReadTool(
        name=as_string(function.get("name"), f"{where}.function.name"),
        description=optional(function, "description", as_string, f"{where}.function"),
        parameters=function.get("parameters"),
    )


def _read_format(body: Mapping[str, Any]) -> tuple[str, str | None, Any]:
    """What the output shall be, with the name and the schema where there is one."""
    response_format = optional(body, "response_format", as_object)
    if response_format is None:
        return "text", None, None
    match response_format.get("type"):
        case "text":
            return "text", None, None
        case "json_object":
            return "json", None, None
        case "json_schema":
            where = "response_format.json_schema"
            form = as_object(response_format.get("json_schema"), where)
            name = as_string(form.get("name"), f"{where}.name")
            schema = as_object(form.get("schema"), f"{where}.schema")
            return ("strict" if form.get("strict") is True else "schema"), name, schema
        case other:
            raise ValueError(f"response_format.type must be text, json_object or json_schema, not {other!r}")


def _read_asks_usage(body: Mapping[str, Any], stream: bool) -> bool:
    options = optional(body, "stream_options", as_object)
    if options is None:
        return not stream  # a completion reports usage unasked
    if not stream:
        raise ValueError("stream_options must be given only with stream")
    return optional(options, "include_usage", as_boolean, "stream_options") or False
