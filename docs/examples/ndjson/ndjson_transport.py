"""A transport over the NDJSON chat protocol, on a bare HTTP client."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx2

from treelang import (
    CheckedRequest,
    ErrorTranslator,
    ModelCapabilities,
    ModelRequest,
    ModelUsage,
    UsageLedger,
    UsageRecord,
    check_request,
    http_rules,
)

if TYPE_CHECKING:  # the transport itself does without the kit
    from treelang_conformance import Endpoint

PROVIDER = "oak"
MODELS = {"oak-1": ModelCapabilities(strict_json_schema=True, temperature=True)}
TLS = ssl.create_default_context()  # making one takes longer than the rest of a client: share it


def make(endpoint: Endpoint) -> NDJSONTransport:
    """The factory that the kit calls."""
    return NDJSONTransport(endpoint.url, endpoint.api_key, endpoint.timeout)


class NDJSONTransport:
    """One HTTP request a call; the errors, the usage and the check of the request are treelang's own parts."""

    def __init__(self, base_url: str, api_key: str, timeout: float) -> None:
        credential = {"authorization": f"Bearer {api_key}"}
        self._client = httpx2.AsyncClient(base_url=base_url, headers=credential, timeout=timeout, verify=TLS)
        self._ledger = UsageLedger()

    async def complete(self, request: ModelRequest) -> str:
        """Return the whole text of the answer."""
        usage = self._ledger.begin()
        checked = check_request(request, PROVIDER)
        errors = _errors(checked)
        with errors:
            async with self._answered(_body(checked), errors) as response:
                data = await response.aread()
        answer = _Answer(usage, errors)
        text = answer.take(data)
        answer.require_whole()
        return text

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the text of the answer line by line."""
        usage = self._ledger.begin()
        checked = check_request(request, PROVIDER)
        errors = _errors(checked)
        answer = _Answer(usage, errors)
        async with contextlib.AsyncExitStack() as stack:
            # No `yield` stands inside `with errors`: what the consumer raises there is no failure of the provider.
            with errors:
                response = await stack.enter_async_context(self._answered({**_body(checked), "stream": True}, errors))
            lines = await stack.enter_async_context(contextlib.aclosing(_lines(response)))
            while not answer.over:
                with errors:
                    line = await anext(lines, None)
                if line is None:
                    break
                if text := answer.take(line):
                    yield text
        answer.require_whole()

    def consume_usage(self) -> ModelUsage:
        """Return the usage of this context's last call and reset it to zero."""
        return self._ledger.consume()

    def capabilities(self, model: str) -> ModelCapabilities:
        """Return what a model can do; an unknown one nothing."""
        return MODELS.get(model, ModelCapabilities())

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    @contextlib.asynccontextmanager
    async def _answered(self, body: dict[str, Any], errors: ErrorTranslator) -> AsyncIterator[httpx2.Response]:
        async with self._client.stream("POST", "/chat", json=body) as response:
            errors.response_head = lambda: response  # the status stands, even where the body then breaks off
            if response.is_error:
                await response.aread()
            response.raise_for_status()
            yield response


class _Answer:
    """What is known of an answer. It is judged at its end: usage comes last, and was billed whatever the verdict."""

    def __init__(self, usage: UsageRecord, errors: ErrorTranslator) -> None:
        self._usage, self._errors = usage, errors
        self._fault, self._has_text = "", False
        # Escapes may split a character between two lines: its first half waits for the second.
        self._halves = codecs.getincrementaldecoder("utf-16-le")("surrogatepass")
        self.over = False

    def take(self, data: bytes) -> str:
        """Return the text of one line, or of a whole answer."""
        try:
            part = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._errors.unusable("it is not JSON") from error
        if not isinstance(part, dict):
            raise self._errors.unusable("it is not a JSON object")
        if isinstance(counters := part.get("usage"), dict):
            self._usage.report(counters.get("input"), counters.get("output"))
        if part.get("error"):
            self._errors.raise_in_band(part)
        if part.get("calls") or part.get("refusal"):
            self._fault = "it calls a tool or refuses"
        if "done" in part:
            self.over = True
            if part["done"] != "stop":
                self._fault = self._fault or "it stopped before its natural end"
        text = part.get("text") or ""
        if not isinstance(text, str):
            raise self._errors.unusable("its text is none")
        self._has_text = self._has_text or bool(text)
        return self._halves.decode(text.encode("utf-16-le", "surrogatepass"), final=self.over)

    def require_whole(self) -> None:
        """Raise unless the answer came to its natural end with some text."""
        if not self.over:
            raise self._errors.unusable("it ended before it was done")
        if self._fault or not self._has_text:
            raise self._errors.unusable(self._fault or "it holds no text")


def _errors(request: CheckedRequest) -> ErrorTranslator:
    return ErrorTranslator(PROVIDER, http_rules(), strict=request.strict is not None, private=lambda: str(request))


def _body(request: CheckedRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
    }
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None:
        body["max_tokens"] = request.max_tokens
    if request.tools:
        body["tools"] = [
            {name: value for name, value in dataclasses.asdict(tool).items() if value is not None}
            for tool in request.tools
        ]
    if request.strict is not None:
        body["format"] = {"name": request.strict.name, "schema": request.strict.schema}
    if request.json_mode:  # for which this protocol has only words
        body["messages"].append({"role": "user", "content": "Answer with a JSON object and nothing else."})
    return body


async def _lines(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Whole lines with something in them, split as bytes: a text may hold other line ends, and cut characters."""
    rest = b""
    async with contextlib.aclosing(response.aiter_bytes()) as received:
        async for data in received:
            *lines, rest = (rest + data).split(b"\n")
            for line in filter(bytes.strip, lines):
                yield line
    if rest.strip():  # an error object in place of a stream has no line end
        yield rest
