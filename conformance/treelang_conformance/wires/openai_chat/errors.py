"""Errors in the chat form, and the tables of those that concern strict output.

The wordings are those that the servers named send; a name says whose wording it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from treelang_conformance.json_text import encode_json
from treelang_conformance.neutral import Failure

_TYPES = {401: "invalid_request_error", 403: "invalid_request_error", 429: "requests"}


def envelope(failure: Failure) -> Any:
    """The JSON body of a failure."""
    if failure.body is not None:
        return failure.body
    return {
        "error": {
            "message": failure.message,
            "type": failure.type or _default_type(failure.status),
            "param": failure.param,
            "code": failure.code,
        }
    }


def _default_type(status: int) -> str:
    return _TYPES.get(status, "invalid_request_error" if 400 <= status < 500 else "server_error")


FAILURES: Mapping[str, Failure] = {
    "authentication": Failure(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    "permission": Failure(403, "Forbidden", "invalid_request_error", "forbidden"),
    "rate-limit": Failure(429, "Rate limit reached for requests.", "requests", "rate_limit_exceeded"),
    "other": Failure(500, "The server had an error while processing your request.", "server_error"),
}


def _openai(message: str, code: str | None = None, param: str | None = None) -> Failure:
    return Failure(400, message, "invalid_request_error", code, param)


def _shaped(body: Any, status: int = 400) -> Failure:
    """An error of a server that does not use OpenAI's envelope as it is."""
    return Failure(status, body=body)


def _by_way_of_openrouter(raw: str, provider: str) -> Failure:
    metadata = {"raw": raw, "provider_name": provider}
    return _shaped({"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}})


_MODEL_REJECTION = (
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about "
    "supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs"
)
_SCHEMA_REJECTION = (
    "Invalid schema for response_format 'tallest_tree': In context=(), 'additionalProperties' is required to be "
    "supplied and to be false."
)
_VLLM_MESSAGE = "The provided JSON schema contains features not supported by xgrammar."

_OPENAI_MODEL = _openai(_MODEL_REJECTION)
_OPENAI_SCHEMA = _openai(_SCHEMA_REJECTION, param="response_format")

REJECTIONS: Mapping[str, Failure] = {
    "openai-model": _OPENAI_MODEL,
    "openai-model-with-param": dataclasses.replace(_OPENAI_MODEL, param="response_format"),
    "openai-model-as-422": dataclasses.replace(_OPENAI_MODEL, status=422),
    "openai-schema": _OPENAI_SCHEMA,
    "openai-schema-as-422": dataclasses.replace(_OPENAI_SCHEMA, status=422),
    "azure-old-version": _shaped(
        {
            "error": {
                "code": "BadRequest",
                "message": "response_format value as json_schema is enabled only for api versions 2024-08-01-preview "
                "and later",
            }
        }
    ),
    "openrouter-json": _by_way_of_openrouter(encode_json(envelope(_OPENAI_MODEL)), "OpenAI"),
    "openrouter-event": _by_way_of_openrouter(f"data: {encode_json(envelope(_OPENAI_SCHEMA))}\n\n", "Azure"),
    "groq-model": _openai(
        "This model does not support response format `json_schema`. See supported models at "
        "https://console.groq.com/docs/structured-outputs#supported-models",
        param="response_format",
    ),
    "groq-schema": _shaped(
        {
            "error": {
                "message": "invalid schema for response format: response_format/json_schema/tallest_tree: minItems is "
                "not supported",
                "type": "invalid_request_error",
            }
        }
    ),
    "deepseek": _openai("This response_format type is unavailable now", code="invalid_request_error"),
    "fireworks": _shaped(
        {
            "error": {
                "object": "error",
                "type": "invalid_request_error",
                "message": "Extra inputs are not permitted, field: 'response_format.schema_field', value: None",
            }
        }
    ),
    "vllm-flat": _shaped(
        {"object": "error", "message": _VLLM_MESSAGE, "type": "BadRequestError", "param": None, "code": 400}
    ),
    "vllm-wrapped": _shaped(
        {"error": {"message": _VLLM_MESSAGE, "type": "BadRequestError", "param": None, "code": 400}}
    ),
    "vllm-grammar": _shaped(
        {
            "error": {
                "message": "Grammar error: Unknown format: uri",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        }
    ),
    "lm-studio": _shaped({"error": "'response_format.json_schema.schema' must be an object"}),
}

_CONTEXT_LENGTH = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130011 tokens. Please "
    "reduce the length of the messages."
)
_FILTERED = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify "
    "your prompt and retry."
)
_JSON_WORD = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."

LOOK_ALIKES: Mapping[str, Failure] = {
    "context-length": _openai(_CONTEXT_LENGTH, "context_length_exceeded", "messages"),
    "context-length-vllm": _shaped(
        {"object": "error", "message": _CONTEXT_LENGTH, "type": "BadRequestError", "param": None, "code": 400}
    ),
    "temperature": _openai(
        "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is "
        "supported.",
        "unsupported_value",
        "temperature",
    ),
    "max-tokens": _openai(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "unsupported_parameter",
        "max_tokens",
    ),
    "tool-schema": _openai(
        "Invalid schema for function 'response_format': In context=(), 'additionalProperties' is required to be "
        "supplied and to be false.",
        "invalid_function_parameters",
        "tools[0].parameters",
    ),
    "json-word": _openai(_JSON_WORD, param="messages"),
    "json-word-on-format": _openai(_JSON_WORD, param="response_format"),
    "json-word-by-way-of-openrouter": _by_way_of_openrouter(
        f"data: {encode_json({'error': {'code': 'invalid_parameter_error', 'message': _JSON_WORD}})}", "Alibaba"
    ),
    "json-mode-lm-studio": _shaped({"error": "'response_format.type' must be 'json_schema' or 'text'"}),
    "failed-generation": _shaped(
        {
            "error": {
                "message": "Failed to validate JSON. Please adjust your prompt. See 'failed_generation' for more "
                "details.",
                "type": "invalid_request_error",
                "code": "json_validate_failed",
                "failed_generation": _MODEL_REJECTION,
            }
        }
    ),
    "content-filter-azure": _shaped(
        {
            "error": {
                "message": _FILTERED,
                "type": None,
                "param": "prompt",
                "code": "content_filter",
                "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
            }
        }
    ),
    "invalid-prompt": _openai(
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "invalid_prompt"
    ),
    "unknown-model": _openai("The model `json_schema` does not exist.", "model_not_found", "model"),
    "missing-schema-name": _openai(
        "Missing required parameter: 'response_format.json_schema.name'.",
        "missing_required_parameter",
        "response_format.json_schema.name",
    ),
    "message-names-the-format": _openai(
        'Could not parse messages[1].content: unexpected text after "response_format": json_schema', param="messages"
    ),
    "echoed-rejection": _openai(f"Invalid content in messages[1]: '{_MODEL_REJECTION}'", param="messages"),
    "echoed-rejection-on-a-line": _openai(f"Your input was refused:\n{_SCHEMA_REJECTION}", param="messages"),
    "echoed-in-flat-body": _shaped(
        {"object": "error", "message": f"Bad input: {_VLLM_MESSAGE}", "type": "BadRequestError", "code": 400}
    ),
    "echoed-in-string-body": _shaped({"error": f"Bad input: {_MODEL_REJECTION}"}),
    "vllm-500-without-words": _shaped({"error": {"message": "", "type": "InternalServerError", "code": 500}}, 500),
    **{
        f"rejection-as-{status}": dataclasses.replace(_OPENAI_MODEL, status=status)
        for status in (401, 403, 404, 409, 413, 429, 500, 503)
    },
}
