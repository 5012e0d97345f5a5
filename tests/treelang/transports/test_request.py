"""Requests are read without being changed, and refused with the place and never the content (CMP-3, CMP-6, SEC-1)."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import pytest

from treelang import ModelRequestError
from treelang.transports.request import FunctionTool, Message, StrictSchema, check_request

PROMPT = "the content of a prompt"


def request(**changes: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": PROMPT}]} | changes


def tool(**changes: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "search"} | changes}


def strict(**changes: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {"type": "object"}} | changes}


def test_a_read_only_request_becomes_plain_values() -> None:
    schema = MappingProxyType({"type": "object", "required": ("a",), "properties": MappingProxyType({"a": {}})})
    given = MappingProxyType(
        request(
            messages=(
                MappingProxyType({"role": "system", "content": "s"}),
                MappingProxyType({"role": "user", "content": "u"}),
            ),
            temperature=0,
            max_tokens=5,
            tools=(MappingProxyType(tool(description="finds", parameters=schema)),),
            response_format=strict(schema=schema),
        )
    )
    plain = {"type": "object", "required": ["a"], "properties": {"a": {}}}
    read = check_request(given, "acme")
    assert read.system == ("s",)
    assert read.turns == (Message("user", "u"),)
    assert (read.temperature, read.max_tokens) == (0, 5)
    assert read.tools == (FunctionTool("search", "finds", plain),)
    assert read.strict == StrictSchema("n", plain)
    assert type(read.tools[0].parameters) is dict


@pytest.mark.parametrize(
    "absent", [{}, {"temperature": None, "tools": None, "response_format": None, "max_tokens": None}]
)
def test_what_is_not_given_is_absent(absent: dict[str, Any]) -> None:
    read = check_request(request(**absent), "acme")
    assert (read.temperature, read.max_tokens, read.tools, read.json_mode, read.strict) == (None, None, (), False, None)


@pytest.mark.parametrize(("kind", "json_mode"), [("text", False), ("json_object", True)])
def test_formats_without_a_schema(kind: str, json_mode: bool) -> None:
    assert check_request(request(response_format={"type": kind}), "acme").json_mode is json_mode


cyclic: dict[str, Any] = {}
cyclic["self"] = cyclic

MALFORMED = [
    (None, "it must be a mapping"),
    ([], "it must be a mapping"),
    (request(messages=[]), "messages must be a list with at least one message"),
    (request(model=None), "model must be a non-empty text"),
    (request(model=""), "model must be a non-empty text"),
    (request(messages=None), "messages must be a list"),
    (request(messages=PROMPT), "messages must be a list"),
    (request(messages=[PROMPT]), "messages[0] must be a mapping"),
    (request(messages=[{"role": PROMPT, "content": "x"}]), "messages[0].role must be system, user or assistant"),
    (request(messages=[{"role": [], "content": "x"}]), "messages[0].role must be system, user or assistant"),
    (request(messages=[{"role": "user", "content": None}]), "messages[0].content must be text"),
    (
        request(tools=[tool(description="\ud83c")]),
        "tools[0].function.description must be text without lone surrogates",
    ),
    (
        request(response_format=strict(description="\ud83c")),
        "response_format.json_schema.description must be text without lone surrogates",
    ),
    (request(messages=[{"role": "user", "content": "\ud800"}]), "messages[0].content must be text without lone"),
    (request(messages=[{"role": "user", "content": "x", PROMPT: 1}]), "messages[0] may have only the keys"),
    (request(**{PROMPT: 1}), "it may have only the keys"),
    (request(temperature="hot"), "temperature must be a finite number"),
    (request(temperature=True), "temperature must be a finite number"),
    (request(temperature=math.nan), "temperature must be a finite number"),
    (request(max_tokens=0), "max_tokens must be an integer"),
    (request(max_tokens=True), "max_tokens must be an integer"),
    (request(tools="search"), "tools must be a list"),
    (request(tools=[{"name": "search"}]), 'tools[0] must be {"type": "function"'),
    (request(tools=[tool(name="")]), "tools[0].function.name must be a non-empty text"),
    (request(tools=[tool(description=3)]), "tools[0].function.description must be text"),
    (request(tools=[tool(parameters=PROMPT)]), "tools[0].function.parameters must be a JSON Schema object"),
    (request(tools=[tool(parameters={"a": {1, 2}})]), "tools[0].function.parameters must be made of JSON values"),
    (request(tools=[tool(parameters={1: 2})]), "tools[0].function.parameters must have text keys"),
    (request(tools=[tool(parameters={"a": math.inf})]), "tools[0].function.parameters must hold finite numbers"),
    (request(tools=[tool(parameters=cyclic)]), "tools[0].function.parameters is nested too deep"),
    (request(tools=[tool(), tool()]), "tools must have unique names"),
    (request(response_format=PROMPT), "response_format.type must be"),
    (request(response_format={"type": "xml"}), "response_format.type must be"),
    (request(response_format={"type": "json_schema"}), "response_format.json_schema must be a mapping"),
    (request(response_format=strict(name=None)), "response_format.json_schema.name must be a non-empty text"),
    (request(response_format=strict(schema=None)), "response_format.json_schema.schema must be a JSON Schema object"),
]


@pytest.mark.parametrize(("malformed", "complaint"), MALFORMED, ids=[complaint for _, complaint in MALFORMED])
def test_a_malformed_request_is_refused_by_its_place_and_not_its_content(malformed: Any, complaint: str) -> None:
    with pytest.raises(ModelRequestError) as caught:
        check_request(malformed, "acme")
    assert complaint in str(caught.value)
    assert PROMPT not in str(caught.value)
    assert caught.value.provider == "acme"
    assert caught.value.__cause__ is None
