"""Errors in the messages form, and the tables of those that concern strict output.

The wordings are those that Anthropic and gateways to it send.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from treelang_conformance.neutral import Failure

REQUEST_ID = "req_conformance"

_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def envelope(failure: Failure) -> Any:
    """The JSON body of a failure. The protocol has neither a code nor a parameter."""
    if failure.body is not None:
        return failure.body
    error = {"type": failure.type or _default_type(failure.status), "message": failure.message}
    return {"type": "error", "error": error, "request_id": REQUEST_ID}


def _default_type(status: int) -> str:
    return _TYPES.get(status, "invalid_request_error" if 400 <= status < 500 else "api_error")


FAILURES: Mapping[str, Failure] = {
    "authentication": Failure(401, "invalid x-api-key", "authentication_error"),
    "permission": Failure(403, "Your API key does not have permission to use this resource.", "permission_error"),
    "rate-limit": Failure(429, "This request would exceed your organization's rate limit.", "rate_limit_error"),
    "other": Failure(529, "Overloaded", "overloaded_error"),
}

_GRAMMAR = (
    "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce "
    "the number of strict tools."
)
_KEYWORD = Failure(400, "output_config.format.schema: For 'array' type, property 'maxItems' is not supported")
_UNKNOWN_FIELD = Failure(400, "output_config.format: Extra inputs are not permitted")

REJECTIONS: Mapping[str, Failure] = {
    "array-keyword": _KEYWORD,
    "array-keyword-as-422": dataclasses.replace(_KEYWORD, status=422),
    "array-minimum": Failure(
        400, "output_config.format.schema: For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    ),
    "number-keyword": Failure(
        400, "output_config.format.schema: For 'integer' type, properties maximum, minimum are not supported"
    ),
    "additional-properties": Failure(
        400,
        "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    "grammar-too-large": Failure(400, _GRAMMAR),
    "grammar-too-large-with-path": Failure(400, f"output_config.format.schema: Invalid schema: {_GRAMMAR}"),
    "too-complex": Failure(
        400,
        "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas.",
    ),
    "compilation-timed-out": Failure(400, "Grammar compilation timed out. Simplify your schema and try again."),
    "too-many-optional-parameters": Failure(
        400,
        "Schemas contains too many optional parameters (25), which would make grammar compilation inefficient. "
        "Reduce the number of optional parameters in your tool schemas (limit: 24).",
    ),
    "too-many-unions": Failure(
        400,
        "Schemas contains too many parameters with union types (17 parameters with type arrays or anyOf). This "
        "causes exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: 16 "
        "parameters with unions).",
    ),
    "gateway-without-the-field": _UNKNOWN_FIELD,
    "gateway-without-the-field-as-422": dataclasses.replace(_UNKNOWN_FIELD, status=422),
    "old-field": Failure(400, "output_format: This field is deprecated. Use 'output_config.format' instead."),
}

LOOK_ALIKES: Mapping[str, Failure] = {
    "context-length": Failure(400, "prompt is too long: 200016 tokens > 200000 maximum"),
    "temperature": Failure(400, "`temperature` is deprecated for this model."),
    "max-tokens": Failure(400, "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens"),
    "effort": Failure(400, "This model does not support effort level 'xhigh'. Supported levels: high, low, medium."),
    "effort-in-the-same-object": Failure(400, "output_config.effort: Extra inputs are not permitted"),
    "prefill": Failure(
        400, "This model does not support assistant message prefill. The conversation must end with a user message."
    ),
    "tool-schema": Failure(400, "tools.0.custom: For 'object' type, property 'properties' is not supported"),
    "tool-schema-type": Failure(400, "tools.0.custom.input_schema.type: Field required"),
    "too-many-strict-tools": Failure(
        400,
        "Too many strict tools (21). The maximum number of strict tools supported is 20. Try reducing the number of "
        "tools marked as strict.",
    ),
    "spend-limit": Failure(400, "You have reached your specified API usage limits."),
    "credit": Failure(400, "Your credit balance is too low to access the Anthropic API."),
    "field-path-in-a-message": Failure(
        400, "messages.0.content.0.text: output_config.format: Extra inputs are not permitted"
    ),
    "message-names-the-format": Failure(400, "messages.0.content: could not parse output_config.format.schema"),
    "echoed-rejection": Failure(400, f"messages.0.content: invalid text '{_KEYWORD.message}'"),
    "echoed-rejection-on-a-line": Failure(400, f"Your input was refused:\n{_GRAMMAR}"),
    "invalid-request-data": Failure(400, "Invalid request data"),
    **{
        f"rejection-as-{status}": dataclasses.replace(_KEYWORD, status=status)
        for status in (401, 403, 404, 409, 413, 429, 500, 529)
    },
}
