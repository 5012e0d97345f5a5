"""What each adapter sends, pinned to the payload: the whole body for a full request and for the smallest one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.adapters import ADAPTERS, call
from treelang_conformance.provider.script import Reply
from treelang_conformance.provider.server import Provider

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "Why?"},
]
TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}}
FULL = {
    "model": "m",
    "messages": MESSAGES,
    "temperature": 0.0,
    "max_tokens": 50,
    "tools": [TOOL],
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}},
}
SMALLEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
JSON_MODE = SMALLEST | {"response_format": {"type": "json_object"}}
HELLO = {"role": "user", "content": "Hello"}

PAYLOADS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "full": FULL,
        "smallest": SMALLEST,
        "json": JSON_MODE | {"messages": [HELLO, {"role": "user", "content": "Answer with a JSON object."}]},
        "stream": {"stream": True, "stream_options": {"include_usage": True}},
    },
    "openai-responses": {
        "full": {
            "model": "m",
            "input": MESSAGES,
            "temperature": 0.0,
            "max_output_tokens": 50,
            "tools": [
                {"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA, "strict": False}
            ],
            "text": {"format": {"type": "json_schema", "name": "n", "strict": True, "schema": SCHEMA}},
        },
        "smallest": {"model": "m", "input": [HELLO]},
        "json": {
            "model": "m",
            "input": [HELLO, {"role": "user", "content": "Answer with a JSON object."}],
            "text": {"format": {"type": "json_object"}},
        },
        "stream": {"stream": True},
    },
    "anthropic-messages": {
        "full": {
            "model": "m",
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": MESSAGES[1:],
            "temperature": 0.0,
            "max_tokens": 50,
            "tools": [{"name": "look", "description": "Looks.", "input_schema": SCHEMA}],
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        },
        "smallest": {"model": "m", "messages": [HELLO], "max_tokens": 8192},
        "json": {
            "model": "m",
            "system": [
                {
                    "type": "text",
                    "text": "Answer with a JSON object and nothing else: no words around it, no code fence.",
                }
            ],
            "messages": [HELLO],
            "max_tokens": 8192,
        },
        "stream": {"stream": True},
    },
}

REQUESTS = {"full": FULL, "smallest": SMALLEST, "json": JSON_MODE}


def sent(wire: str, request: dict[str, Any], *, stream: bool = False) -> dict[str, Any]:
    """The one body that `request` becomes; the answer is a failure, which is of no interest here."""

    async def exchange(url: str) -> None:
        async with ADAPTERS[wire].connected(url) as transport:
            await call(transport, request, stream=stream)

    with Provider() as provider:
        provider.reply(Reply.json({}, status=400))
        asyncio.run(exchange(provider.url))
        (received,) = provider.requests
    body = received.json()
    assert isinstance(body, dict)
    return body


@pytest.mark.parametrize("wire", PAYLOADS)
@pytest.mark.parametrize("name", REQUESTS)
def test_a_completion_sends_exactly_this(wire: str, name: str) -> None:
    assert sent(wire, REQUESTS[name]) == PAYLOADS[wire][name]


@pytest.mark.parametrize("wire", PAYLOADS)
def test_a_stream_says_so_and_asks_for_usage_where_the_wire_needs_asking(wire: str) -> None:
    assert sent(wire, SMALLEST, stream=True) == PAYLOADS[wire]["smallest"] | PAYLOADS[wire]["stream"]


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
def test_the_word_json_is_not_added_where_a_message_has_it(wire: str) -> None:
    message = {"role": "system", "content": "Speak Json."}
    body = sent(wire, JSON_MODE | {"messages": [message, HELLO]})
    assert (body.get("messages") or body["input"]) == [message, HELLO]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4.1", "max_tokens"),
        ("acme-7b", "max_tokens"),
        ("o3", "max_completion_tokens"),
        ("gpt-6-sol", "max_completion_tokens"),
    ],
)
def test_reasoning_models_get_the_newer_name_of_max_tokens(model: str, name: str) -> None:
    body = sent("openai-chat", SMALLEST | {"model": model, "max_tokens": 5})
    assert body == SMALLEST | {"model": model, name: 5}


def test_anthropic_keeps_several_system_texts_apart() -> None:
    systems = [{"role": "system", "content": text} for text in ("One.", "Two.")]
    body = sent("anthropic-messages", SMALLEST | {"messages": [*systems, HELLO]})
    assert body["system"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]


def test_a_tool_without_description_and_parameters() -> None:
    tools = [{"type": "function", "function": {"name": "look"}}]
    assert sent("openai-chat", SMALLEST | {"tools": tools})["tools"] == tools
    assert sent("anthropic-messages", SMALLEST | {"tools": tools})["tools"] == [
        {"name": "look", "input_schema": {"type": "object", "properties": {}}}
    ]
