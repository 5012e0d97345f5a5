"""Received responses requests as neutral ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_PART_TYPES = frozenset({"input_text", "output_text"})

# What the provider says of parameters that chat completions have.
_MOVED = {
    "messages": "input",
    "response_format": "text.format",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "functions": "tools",
    "reasoning_effort": "reasoning.effort",
}


def read(request: RecordedRequest, path: str) -> ReadRequest:
    """Translate a request; raises `ValueError` saying what is not of this protocol."""
    body = read_body(request, path)
    for name, moved in _MOVED.items():
        if name in body:
            raise ValueError(f"{name} is not of this protocol; the parameter is {moved}")
    model = as_string(body.get("model"), "model")
    messages = _read_input(body.get("input"))
    output, schema_name, schema = _read_format(body)
    if output == "json" and not any("json" in message.text.lower() for message in messages):
        raise ValueError("input must contain the word 'json' in some form, to use text.format of type 'json_object'")
    instructions = optional(body, "instructions", as_string)
    system = [message.text for message in messages if message.role in _SYSTEM_ROLES]
    return ReadRequest(
        model=model,
        system=system if instructions is None else [instructions, *system],
        turns=[message for message in messages if message.role in _TURN_ROLES],
        stream=_read_stream(body),
        temperature=optional(body, "temperature", as_number),
        max_tokens=optional(body, "max_output_tokens", as_integer),
        tools=optional_items(body, "tools", _read_tool),
        output=output,
        schema=schema,
        schema_name=schema_name,
    )


def _read_input(value: Any) -> Sequence[ReadMessage]:
    if isinstance(value, str):
        return [ReadMessage("user", value)]
    return as_some_items(value, "input", _read_message)


def _read_message(value: Any, where: str) -> ReadMessage:
    message = as_object(value, where)
    if message.get("type", "message") != "message":
        raise ValueError(f"{where}.type must be message or missing, not {message['type']!r}")
    role = as_string(message.get("role"), f"{where}.role")
    if role not in _SYSTEM_ROLES | _TURN_ROLES:
        raise ValueError(f"{where}.role must be system, developer, user or assistant, not {role!r}")
    return ReadMessage(role, as_text(message.get("content"), f"{where}.content", _PART_TYPES))


def _read_stream(body: Mapping[str, Any]) -> bool:
    options = optional(body, "stream_options", as_object) or {}
    unknown = options.keys() - {"include_obfuscation"}
    if unknown:
        raise ValueError(f"stream_options.{min(unknown)} is not of this protocol, which reports usage unasked")
    return optional(body, "stream", as_boolean) or False


def _read_tool(value: Any, where: str) -> ReadTool:
    tool = as_object(value, where)
    if tool.get("type") != "function":
        raise ValueError(f"{where}.type must be 'function', not {tool.get('type')!r}")
    return ReadTool(
        name=as_string(tool.get("name"), f"{where}.name"),
        description=optional(tool, "description", as_string, where),
        parameters=tool.get("parameters"),
    )


def _read_format(body: Mapping[str, Any]) -> tuple[str, str | None, Any]:
    """What the output shall be, with the name and the schema where there is one."""
    text = optional(body, "text", as_object) or {}
    form = optional(text, "format", as_object, "text") or {"type": "text"}
    match form.get("type"):
        case "text":
            return "text", None, None
        case "json_object":
            return "json", None, None
        case "json_schema":
            name = as_string(form.get("name"), "text.format.name")
            schema = as_object(form.get("schema"), "text.format.schema")
            return ("strict" if form.get("strict") is True else "schema"), name, schema
        case other:
            raise ValueError(f"text.format.type must be text, json_object or json_schema, not {other!r}")
