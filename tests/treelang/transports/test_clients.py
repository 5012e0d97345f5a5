"""Whose client an adapter uses, and that one call stays one request to one origin (clauses CMP-2, SEC-2, SEC-5)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from tests.adapters import ADAPTERS, call
from treelang import (
    AnthropicTransport,
    ModelAuthenticationError,
    ModelTransportError,
    OpenAIResponsesTransport,
    OpenAITransport,
)
from treelang_conformance.provider.script import Reply
from treelang_conformance.provider.server import Provider

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}

CLIENTS = [
    (OpenAITransport, openai.AsyncOpenAI, "/v1"),
    (OpenAIResponsesTransport, openai.AsyncOpenAI, "/v1"),
    (AnthropicTransport, anthropic.AsyncAnthropic, ""),
]


@pytest.mark.parametrize(("adapter", "client_class", "path"), CLIENTS)
def test_a_client_that_retries_is_used_without_its_retries_and_left_open(
    adapter: Any, client_class: Any, path: str
) -> None:
    async def exchange(url: str) -> None:
        client = client_class(api_key="k", base_url=url + path)
        async with adapter(client) as transport:
            outcome = await call(transport, REQUEST, stream=False)
        assert isinstance(outcome.error, ModelTransportError)
        assert outcome.error.status_code == 500
        assert not client.is_closed()
        await client.close()

    with Provider() as provider:
        provider.reply(*[Reply.json({}, status=500)] * 3)
        asyncio.run(exchange(provider.url))
        assert len(provider.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("adapter", "variable"),
    [
        (OpenAITransport, "OPENAI_API_KEY"),
        (OpenAIResponsesTransport, "OPENAI_API_KEY"),
        (AnthropicTransport, "ANTHROPIC_API_KEY"),
    ],
)
def test_without_a_credential_the_error_says_where_to_put_one(
    adapter: Any, variable: str, stream: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))  # where the SDKs look for credentials as well
    try:
        error = asyncio.run(call(adapter(provider="mine"), REQUEST, stream=stream)).error
    except ModelAuthenticationError as raised:  # OpenAI's SDK refuses to make a client, Anthropic's to send
        error = raised
    assert isinstance(error, ModelAuthenticationError)
    assert str(error) == f"{adapter.__name__} has no credential: pass api_key, or set {variable}"
    assert error.provider == "mine"
    monkeypatch.setenv(variable, "k")
    assert repr(adapter()).startswith(adapter.__name__)


@pytest.mark.parametrize(("adapter", "client_class", "path"), CLIENTS)
def test_what_is_wrapped_around_create_sees_the_call(adapter: Any, client_class: Any, path: str) -> None:
    seen: list[str] = []

    async def exchange(url: str) -> None:
        async with client_class(api_key="k", base_url=url + path, max_retries=0) as client:
            resource = {
                OpenAITransport: lambda: client.chat.completions,
                OpenAIResponsesTransport: lambda: client.responses,
                AnthropicTransport: lambda: client.messages,
            }[adapter]()
            original = resource.create

            async def traced(*arguments: Any, **options: Any) -> Any:
                seen.append(options["model"])
                return await original(*arguments, **options)

            resource.create = traced
            await call(adapter(client), REQUEST, stream=False)
            await call(adapter(client), REQUEST, stream=True)

    with Provider() as provider:
        provider.reply(*[Reply.json({}, status=500)] * 2)
        asyncio.run(exchange(provider.url))
    assert seen == ["m", "m"]


@pytest.mark.parametrize("wire", ADAPTERS)
def test_a_redirect_is_a_failure_and_is_not_followed(wire: str) -> None:
    async def exchange(url: str) -> None:
        async with ADAPTERS[wire].connected(url) as transport:
            outcome = await call(transport, REQUEST, stream=False)
        assert isinstance(outcome.error, ModelTransportError)
        assert outcome.error.status_code == 307

    with Provider() as elsewhere, Provider() as provider:
        provider.reply(Reply(status=307, headers={"location": elsewhere.url}))
        asyncio.run(exchange(provider.url))
        assert len(elsewhere.requests) == 0


@pytest.mark.parametrize("adapter", [OpenAITransport, OpenAIResponsesTransport, AnthropicTransport])
def test_its_own_client_is_closed_with_the_transport_and_shows_no_credential(adapter: Any) -> None:
    async def life() -> None:
        transport = adapter(api_key="a-secret", provider="acme")
        assert repr(transport) == f"{adapter.__name__}(provider='acme')"
        async with transport:
            pass
        outcome = await call(transport, REQUEST, stream=False)
        assert isinstance(outcome.error, ModelTransportError)

    asyncio.run(life())


@pytest.mark.parametrize(
    ("adapter", "extra"),
    [("OpenAITransport", "openai"), ("OpenAIResponsesTransport", "openai"), ("AnthropicTransport", "anthropic")],
)
def test_without_its_sdk_an_adapter_says_which_extra_to_install(adapter: str, extra: str) -> None:
    program = f"""
import sys
sys.modules[{extra!r}] = None
import treelang
try:
    treelang.{adapter}(api_key="k")
except treelang.MissingDependencyError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # our own program
    assert run.stdout == f"{adapter} needs the {extra} SDK, which is not installed: pip install 'treelang[{extra}]'\n"
