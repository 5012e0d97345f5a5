"""Errors as OpenAI words them on all its wires, and those of servers that speak more than one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treelang_conformance.neutral import Failure

_TYPES = {401: "invalid_request_error", 403: "invalid_request_error", 429: "requests"}


def envelope(failure: Failure) -> Any:
    """The JSON body of a failure, `{"error": {...}}`."""
    if failure.body is not None:
        return failure.body
    return {
        "error": {
            "message": failure.message,
            "type": type_of(failure),
            "param": failure.param,
            "code": failure.code,
        }
    }


def type_of(failure: Failure) -> str:
    """The error type of a failure: its own, or what OpenAI gives with its status."""
    status = failure.status
    return failure.type or _TYPES.get(status, "invalid_request_error" if 400 <= status < 500 else "server_error")


FAILURES: Mapping[str, Failure] = {
    "authentication": Failure(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    "permission": Failure(403, "Forbidden", "invalid_request_error", "forbidden"),
    "rate-limit": Failure(429, "Rate limit reached for requests.", "requests", "rate_limit_exceeded"),
    "other": Failure(500, "The server had an error while processing your request.", "server_error"),
}


def invalid_request(message: str, code: str | None = None, param: str | None = None) -> Failure:
    """A bad request in OpenAI's own words."""
    return Failure(400, message, "invalid_request_error", code, param)


def shaped(body: Any, status: int = 400) -> Failure:
    """An error of a server that does not use OpenAI's envelope as it is."""
    return Failure(status, body=body)


def by_way_of_openrouter(raw: str, provider: str) -> Failure:
    """An error of another provider, of which OpenRouter passes on the body as text."""
    metadata = {"raw": raw, "provider_name": provider}
    return shaped({"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}})


VLLM_MESSAGE = "The provided JSON schema contains features not supported by xgrammar."

_VLLM_FIELDS = {"type": "BadRequestError", "param": None, "code": 400}

VLLM_REJECTIONS: Mapping[str, Failure] = {
    "vllm-flat": shaped({"object": "error", "message": VLLM_MESSAGE, **_VLLM_FIELDS}),
    "vllm-wrapped": shaped({"error": {"message": VLLM_MESSAGE, **_VLLM_FIELDS}}),
    "vllm-grammar": shaped({"error": {"message": "Grammar error: Unknown format: uri", **_VLLM_FIELDS}}),
}
"""Rejections of strict output by vLLM, which has the same words on every wire."""

CONTENT_FILTER_OF_AZURE = shaped(
    {
        "error": {
            "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management "
            "policy. Please modify your prompt and retry.",
            "type": None,
            "param": "prompt",
            "code": "content_filter",
            "status": 400,
            "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
        }
    }
)

INVALID_PROMPT = invalid_request(
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "invalid_prompt"
)
