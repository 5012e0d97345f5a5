"""Explicit rejections of strict output are told from everything that resembles one (clauses FBK-2, FBK-3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from treelang import is_structured_output_rejection
from treelang.transports.error_detail import ErrorDetail


def openai(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None} | fields}


def anthropic(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"}


def behind_gateway(raw: str) -> dict[str, Any]:
    return {
        "error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "A"}}
    }


UNSUPPORTED = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
SCHEMA = "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is required to be false."

REJECTIONS = {
    "openai model": openai(UNSUPPORTED),
    "openai schema": openai(SCHEMA, param="response_format"),
    "responses model": openai("Invalid parameter: 'text.format' of type 'json_schema' is not supported with model x."),
    "responses schema": openai("Whatever it says.", param="text.format.schema", code="invalid_json_schema"),
    "azure": {
        "error": {
            "code": "BadRequest",
            "message": "response_format value as json_schema is enabled only for api versions 2024-08-01-preview",
        }
    },
    "openrouter": behind_gateway(json.dumps(openai(UNSUPPORTED))),
    "openrouter event": behind_gateway("data: " + json.dumps(openai(SCHEMA))),
    "groq model": openai("This model does not support response format `json_schema`. See supported models."),
    "groq schema": openai("invalid schema for response format: response_format/json_schema/x: minItems"),
    "deepseek": openai("This response_format type is unavailable now", code="invalid_request_error"),
    "fireworks": openai("Extra inputs are not permitted, field: 'response_format.schema_field', value: None"),
    "vllm flat": {
        "object": "error",
        "message": "The provided JSON schema contains features not supported by X.",
    },
    "vllm grammar": {"object": "error", "message": "Grammar error: Unknown format: uri", "code": 400},
    "lm studio": {"error": "'response_format.json_schema.schema' must be an object"},
    "ollama": {"error": 'invalid format: "x"; expected "json" or a valid JSON Schema object'},
    "anthropic keyword": anthropic(
        "output_config.format.schema: For 'array' type, property 'maxItems' is not supported"
    ),
    "anthropic grammar": anthropic("The compiled grammar is too large, which would cause performance issues."),
    "anthropic grammar with path": anthropic("output_config.format.schema: Invalid schema: The compiled grammar"),
    "anthropic complex": anthropic("Schema is too complex for compilation. Try reducing the number of tools."),
    "anthropic gateway": anthropic("output_config.format: Extra inputs are not permitted"),
    "anthropic deprecated": anthropic("output_format: This field is deprecated. Use 'output_config.format' instead."),
}

LOOK_ALIKES = {
    "context length": openai("This model's maximum context length is 8 tokens.", code="context_length_exceeded"),
    "temperature": openai("'temperature' is not supported with this model.", code="unsupported_value"),
    "max_tokens": openai("Unsupported parameter: 'max_tokens' is not supported with this model."),
    "tool schema": openai(
        "Invalid schema for function 'response_format': In context=().", code="invalid_function_parameters"
    ),
    "json word": openai("'messages' must contain the word 'json' to use 'response_format' of type 'json_object'."),
    "json word responses": openai("Response input messages must contain the word 'json'.", param="text.format"),
    "json word behind a gateway": behind_gateway('data: {"error":{"message":"\'messages\' must contain the word"}}'),
    "gateway without json": behind_gateway("upstream says " + UNSUPPORTED),
    "lm studio json mode": {"error": "'response_format.type' must be 'json_schema' or 'text'"},
    "failed generation": openai("Generated JSON does not match the schema.", code="json_validate_failed"),
    "policy": openai(UNSUPPORTED, code="content_filter"),
    "echoed prompt": openai("Invalid prompt: " + UNSUPPORTED),
    "quoted prompt": openai(f"Bad message: '{SCHEMA}'"),
    "field path": anthropic("messages.0.content.0.text: output_config.format: Extra inputs are not permitted"),
    "missing schema": anthropic("output_config.format.schema: Field required"),
    "spend limit": anthropic("You have reached your specified API usage limits."),
    "too long": anthropic("prompt is too long: 9 tokens > 8 maximum"),
    "nothing": {},
    "no object": [],
    "text": "not found",
    "null": None,
}


@pytest.mark.parametrize("body", REJECTIONS.values(), ids=REJECTIONS)
@pytest.mark.parametrize("status", [400, 422])
def test_explicit_rejections_are_recognised(body: Any, status: int) -> None:
    assert is_structured_output_rejection(status, ErrorDetail.read(body))


@pytest.mark.parametrize("body", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_look_alikes_are_not(body: Any) -> None:
    assert not is_structured_output_rejection(400, ErrorDetail.read(body))


@pytest.mark.parametrize("status", [200, 401, 403, 404, 409, 413, 429, 500, 503, 529])
def test_no_other_status_is_a_rejection_whatever_the_body_says(status: int) -> None:
    assert not is_structured_output_rejection(status, ErrorDetail.read(REJECTIONS["openai model"]))
