"""Errors of the chat wire that concern strict output.

The wordings are those that the servers named send; a name says whose wording it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from treelang_conformance.json_text import encode_json
from treelang_conformance.neutral import Failure
from treelang_conformance.wires.openai_errors import (
    CONTENT_FILTER_OF_AZURE,
    INVALID_PROMPT,
    VLLM_MESSAGE,
    VLLM_REJECTIONS,
    by_way_of_openrouter,
    envelope,
    invalid_request,
    shaped,
)

_MODEL_REJECTION = (
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about "
    "supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs"
)
_SCHEMA_REJECTION = (
    "Invalid schema for response_format 'tallest_tree': In context=(), 'additionalProperties' is required to be "
    "supplied and to be false."
)

_OPENAI_MODEL = invalid_request(_MODEL_REJECTION)
_OPENAI_SCHEMA = invalid_request(_SCHEMA_REJECTION, param="response_format")

REJECTIONS: Mapping[str, Failure] = {
    "openai-model": _OPENAI_MODEL,
    "openai-model-with-param": dataclasses.replace(_OPENAI_MODEL, param="response_format"),
    "openai-model-as-422": dataclasses.replace(_OPENAI_MODEL, status=422),
    "openai-schema": _OPENAI_SCHEMA,
    "openai-schema-as-422": dataclasses.replace(_OPENAI_SCHEMA, status=422),
    "azure-old-version": shaped(
        {
            "error": {
                "code": "BadRequest",
                "message": "response_format value as json_schema is enabled only for api versions 2024-08-01-preview "
                "and later",
            }
        }
    ),
    "openrouter-json": by_way_of_openrouter(encode_json(envelope(_OPENAI_MODEL)), "OpenAI"),
    "openrouter-event": by_way_of_openrouter(f"data: {encode_json(envelope(_OPENAI_SCHEMA))}\n\n", "Azure"),
    "groq-model": invalid_request(
        "This model does not support response format `json_schema`. See supported models at "
        "https://console.groq.com/docs/structured-outputs#supported-models",
        param="response_format",
    ),
    "groq-schema": shaped(
        {
            "error": {
                "message": "invalid schema for response format: response_format/json_schema/tallest_tree: minItems is "
                "not supported",
                "type": "invalid_request_error",
            }
        }
    ),
    "deepseek": invalid_request("This response_format type is unavailable now", code="invalid_request_error"),
    "fireworks": shaped(
        {
            "error": {
                "object": "error",
                "type": "invalid_request_error",
                "message": "Extra inputs are not permitted, field: 'response_format.schema_field', value: None",
            }
        }
    ),
    **VLLM_REJECTIONS,
    "lm-studio": shaped({"error": "'response_format.json_schema.schema' must be an object"}),
}

_CONTEXT_LENGTH = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130011 tokens. Please "
    "reduce the length of the messages."
)
_JSON_WORD = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."

LOOK_ALIKES: Mapping[str, Failure] = {
    "context-length": invalid_request(_CONTEXT_LENGTH, "context_length_exceeded", "messages"),
    "context-length-vllm": shaped(
        {"object": "error", "message": _CONTEXT_LENGTH, "type": "BadRequestError", "param": None, "code": 400}
    ),
    "temperature": invalid_request(
        "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is "
        "supported.",
        "unsupported_value",
        "temperature",
    ),
    "max-tokens": invalid_request(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "unsupported_parameter",
        "max_tokens",
    ),
    "tool-schema": invalid_request(
        "Invalid schema for function 'response_format': In context=(), 'additionalProperties' is required to be "
        "supplied and to be false.",
        "invalid_function_parameters",
        "tools[0].parameters",
    ),
    "json-word": invalid_request(_JSON_WORD, param="messages"),
    "json-word-on-format": invalid_request(_JSON_WORD, param="response_format"),
    "json-word-by-way-of-openrouter": by_way_of_openrouter(
        f"data: {encode_json({'error': {'code': 'invalid_parameter_error', 'message': _JSON_WORD}})}", "Alibaba"
    ),
    "json-mode-lm-studio": shaped({"error": "'response_format.type' must be 'json_schema' or 'text'"}),
    "failed-generation": shaped(
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
    "content-filter-azure": CONTENT_FILTER_OF_AZURE,
    "invalid-prompt": INVALID_PROMPT,
    "unknown-model": invalid_request("The model `json_schema` does not exist.", "model_not_found", "model"),
    "missing-schema-name": invalid_request(
        "Missing required parameter: 'response_format.json_schema.name'.",
        "missing_required_parameter",
        "response_format.json_schema.name",
    ),
    "message-names-the-format": invalid_request(
        'Could not parse messages[1].content: unexpected text after "response_format": json_schema', param="messages"
    ),
    "echoed-rejection": invalid_request(f"Invalid content in messages[1]: '{_MODEL_REJECTION}'", param="messages"),
    "echoed-rejection-on-a-line": invalid_request(f"Your input was refused:\n{_SCHEMA_REJECTION}", param="messages"),
    "echoed-in-flat-body": shaped(
        {"object": "error", "message": f"Bad input: {VLLM_MESSAGE}", "type": "BadRequestError", "code": 400}
    ),
    "echoed-in-string-body": shaped({"error": f"Bad input: {_MODEL_REJECTION}"}),
    "vllm-500-without-words": shaped({"error": {"message": "", "type": "InternalServerError", "code": 500}}, 500),
    **{
        f"rejection-as-{status}": dataclasses.replace(_OPENAI_MODEL, status=status)
        for status in (401, 403, 404, 409, 413, 429, 500, 503)
    },
}
