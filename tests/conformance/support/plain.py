"""A chat transport on a bare HTTP client: what an adapter needs where there is no SDK, with treelang's helpers."""

from __future__ import annotations

import contextlib
import functools
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

import httpx2

from treelang import ErrorTranslator, ModelRequest, ModelRequestError, ModelUsage, UsageLedger, UsageRecord, http_rules
from treelang_conformance.endpoint import Endpoint

PROVIDER = "plain"


def make(endpoint: Endpoint) -> PlainChatTransport:
    """The factory that the kit calls."""
    return PlainChatTransport(endpoint.url, endpoint.api_key, endpoint.timeout)


class PlainChatTransport:
    """OpenAI chat completions on httpx2."""

    def __init__(self, base_url: str, api_key: str, timeout: float) -> None:
        credential = {"authorization": f"Bearer {api_key}"}
        self._client = httpx2.AsyncClient(base_url=base_url, headers=credential, timeout=timeout, verify=_tls())
        self._ledger = UsageLedger()

    async def complete(self, request: ModelRequest) -> str:
        usage = self._ledger.begin()
        body, errors = _body(request), _errors(request)
        with errors:
            response = await self._client.post("/chat/completions", json=body)
            response.raise_for_status()
        answer = _decoded(response.content, errors)
        _report(usage, answer)
        choice = _first_choice(answer)
        message = choice.get("message")
        text = message.get("content") if isinstance(message, dict) and not message.get("tool_calls") else None
        if choice.get("finish_reason") != "stop" or not isinstance(text, str) or not text:
            raise errors.unusable("it is no whole text")
        return text

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        usage = self._ledger.begin()
        body = _body(request) | {"stream": True, "stream_options": {"include_usage": True}}
        errors = _errors(request)
        finish, some_text = None, False
        async with contextlib.AsyncExitStack() as stack:
            with errors:
                response = await stack.enter_async_context(self._client.stream("POST", "/chat/completions", json=body))
                if response.is_error:
                    await response.aread()
                response.raise_for_status()
            events = await stack.enter_async_context(contextlib.aclosing(_events(response)))
            while True:
                with errors:
                    event = await anext(events, None)
                if event is None or event == b"[DONE]":
                    break
                chunk = _decoded(event, errors)
                _report(usage, chunk)
                choice = _first_choice(chunk)
                finish = choice.get("finish_reason") or finish
                delta = choice.get("delta")
                text = delta.get("content") if isinstance(delta, dict) else None
                if isinstance(text, str) and text:
                    some_text = True
                    yield text
        if event is None or finish != "stop" or not some_text:
            raise errors.unusable("it is no whole text")

    def consume_usage(self) -> ModelUsage:
        return self._ledger.consume()

    async def aclose(self) -> None:
        await self._client.aclose()


def _body(request: ModelRequest) -> dict[str, Any]:
    if not request.get("model") or not request.get("messages"):
        raise ModelRequestError("a request needs a model and messages", provider=PROVIDER)
    plain: dict[str, Any] = json.loads(json.dumps(request, default=dict))
    return plain


def _errors(request: ModelRequest) -> ErrorTranslator:
    form = request.get("response_format")
    strict = isinstance(form, Mapping) and form.get("type") == "json_schema"
    return ErrorTranslator(PROVIDER, http_rules(), strict=strict)


def _decoded(data: bytes, errors: ErrorTranslator) -> dict[str, Any]:
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise errors.unusable("it is not JSON") from error
    if not isinstance(answer, dict):
        raise errors.unusable("it is not a JSON object")
    if answer.get("error"):
        raise errors.in_band_error(answer)
    return answer


def _report(usage: UsageRecord, answer: dict[str, Any]) -> None:
    counted = answer.get("usage")
    if isinstance(counted, dict):
        usage.report(counted.get("prompt_tokens"), counted.get("completion_tokens"))


def _first_choice(answer: dict[str, Any]) -> dict[str, Any]:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


async def _events(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The data of each server-sent event; lines are split as bytes, for a text may hold other line ends."""
    rest = b""
    async with contextlib.aclosing(response.aiter_bytes()) as received:
        async for data in received:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield line.removeprefix(b"data:").strip()


@functools.cache
def _tls() -> ssl.SSLContext:
    # Building one takes longer than everything else in a client: share it.
    return ssl.create_default_context()
