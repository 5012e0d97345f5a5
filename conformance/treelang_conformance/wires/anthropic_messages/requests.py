"""Received messages requests as neutral ones."""

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
    as_text_parts,
    optional,
    optional_items,
    read_body,
)

_ROLES = frozenset({"user", "assistant"})


def read(request: RecordedRequest, path: str) -> ReadRequest:
    """Translate a request; raises `ValueError` saying what is not of this protocol."""
    body = read_body(request, path)
    if "anthropic-version" not in request.headers:
        raise ValueError("the header anthropic-version must be given")
    schema = _read_schema(body)
    return ReadRequest(
        model=as_string(body.get("model"), "model"),
        system=_read_system(body),
        turns=as_some_items(body.get("messages"), "messages", _read_message),
        stream=optional(body, "stream", as_boolean) or False,
        temperature=optional(body, "temperature", as_number),
        max_tokens=as_integer(body.get("max_tokens"), "max_tokens"),
        tools=optional_items(body, "tools", _read_tool),
        output="text" if schema is None else "strict",
        schema=schema,
        asks_usage=True,
    )


def _read_system(body: Mapping[str, Any]) -> Sequence[str]:
    if "system" not in body:
        return []
    system = body["system"]
    return [system] if isinstance(system, str) else as_text_parts(system, "system")


def _read_message(value: Any, where: str) -> ReadMessage:
    message = as_object(value, where)
    role = as_string(message.get("role"), f"{where}.role")
    if role not in _ROLES:
        raise ValueError(f"{where}.role must be user or assistant, not {role!r}; system text has a field of its own")
    return ReadMessage(role, as_text(message.get("content"), f"{where}.content"))


def _read_tool(value: Any, where: str) -> ReadTool:
    tool = as_object(value, where)
    if tool.get("type", "custom") != "custom":
        raise ValueError(f"{where}.type must be custom or missing, not {tool['type']!r}")
    return ReadTool(
        name=as_string(tool.get("name"), f"{where}.name"),
        description=optional(tool, "description", as_string, where),
        parameters=as_object(tool.get("input_schema"), f"{where}.input_schema"),
    )


def _read_schema(body: Mapping[str, Any]) -> Any:
    if "output_format" in body:
        raise ValueError("output_format is deprecated; the field is output_config.format")
    config = optional(body, "output_config", as_object) or {}
    output_format = optional(config, "format", as_object, "output_config")
    if output_format is None:
        return None
    if output_format.get("type") != "json_schema":
        raise ValueError(f"output_config.format.type must be json_schema, not {output_format.get('type')!r}")
    unknown = output_format.keys() - {"type", "schema"}
    if unknown:
        raise ValueError(f"output_config.format.{min(unknown)}: extra inputs are not permitted")
    return as_object(output_format.get("schema"), "output_config.format.schema")
