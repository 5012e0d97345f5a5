"""Errors of the responses wire: the forms that they take in-band, and those that concern strict output."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from treelang_conformance.json_text import encode_json
from treelang_conformance.neutral import Failure
from treelang_conformance.wires.base import Event, EventKind
from treelang_conformance.wires.openai_errors import (
    CONTENT_FILTER_OF_AZURE,
    INVALID_PROMPT,
    VLLM_MESSAGE,
    VLLM_REJECTIONS,
    by_way_of_openrouter,
    envelope,
    invalid_request,
    shaped,
    type_of,
)
from treelang_conformance.wires.openai_responses.answers import failed_response
from treelang_conformance.wires.openai_responses.events import encode
from treelang_conformance.wires.sse import encode_event


def bodies(failure: Failure) -> dict[str, Any]:
    """What a failure looks like in place of a completion, by the form that it takes."""
    forms = {"envelope": envelope(failure)}
    if failure.body is None:
        forms["failed-response"] = failed_response(_response_error(failure))
    return forms


def events(failure: Failure) -> dict[str, Event]:
    """What a failure looks like inside a stream, by the form that it takes."""
    enveloped = envelope(failure)
    if failure.body is not None:
        return {"envelope": Event(EventKind.ERROR, encode_event(enveloped))}
    flat = {**_response_error(failure), "param": failure.param}
    failed = {"response": failed_response(_response_error(failure))}
    return {
        "flat-event": encode("error", flat, EventKind.ERROR),
        "nested-event": encode("error", enveloped, EventKind.ERROR),
        "failed-response": encode("response.failed", failed, EventKind.ERROR),
        "envelope": Event(EventKind.ERROR, encode_event(enveloped)),  # compatible servers
    }


def _response_error(failure: Failure) -> dict[str, Any]:
    """What a response itself says of a failure: there is no type, and always a code."""
    return {"code": failure.code or type_of(failure), "message": failure.message}


_MODEL_REJECTION = "Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version `gpt-4`."
_SCHEMA_REJECTION = (
    "Invalid schema for response_format 'tallest_tree': In context=(), 'additionalProperties' is required to be "
    "supplied and to be false."
)

_MODEL = invalid_request(_MODEL_REJECTION, param="text.format")
_SCHEMA = invalid_request(_SCHEMA_REJECTION, "invalid_json_schema", "text.format.schema")

REJECTIONS: Mapping[str, Failure] = {
    "model-version": _MODEL,
    "model": invalid_request(
        "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.", param="text.format"
    ),
    "model-without-param": dataclasses.replace(_MODEL, param=None),
    "model-as-422": dataclasses.replace(_MODEL, status=422),
    "schema": _SCHEMA,
    "schema-keyword": invalid_request(
        "Invalid schema for response_format 'tallest_tree': In context=('properties', 'tree'), 'minLength' is not "
        "permitted.",
        "invalid_json_schema",
        "text.format.schema",
    ),
    "schema-without-code": dataclasses.replace(_SCHEMA, code=None),
    "schema-as-422": dataclasses.replace(_SCHEMA, status=422),
    "openrouter-json": by_way_of_openrouter(encode_json(envelope(_MODEL)), "OpenAI"),
    "openrouter-event": by_way_of_openrouter(f"data: {encode_json(envelope(_SCHEMA))}\n\n", "Azure"),
    **VLLM_REJECTIONS,
}

_JSON_WORD = "Response input messages must contain the word 'json' in some form to use 'text.format' of type"

LOOK_ALIKES: Mapping[str, Failure] = {
    "context-length": invalid_request(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "context_length_exceeded",
        "input",
    ),
    "temperature": invalid_request(
        "Unsupported parameter: 'temperature' is not supported with this model.", param="temperature"
    ),
    "reasoning-effort": invalid_request(
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        "unsupported_parameter",
        "reasoning.effort",
    ),
    "verbosity-in-the-same-object": invalid_request(
        "Unsupported value: 'low' is not supported with the 'gpt-4.1-mini' model. Supported values are: 'medium'.",
        "unsupported_value",
        "text.verbosity",
    ),
    "max-output-tokens": invalid_request(
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 5 instead.",
        "integer_below_min_value",
        "max_output_tokens",
    ),
    "tool-schema": invalid_request(
        "Invalid schema for function 'response_format': In context=(), 'additionalProperties' is required to be "
        "supplied and to be false.",
        "invalid_function_parameters",
        "tools[0].parameters",
    ),
    "json-word": invalid_request(f"{_JSON_WORD} 'json_object'.", param="input"),
    "json-word-on-format": invalid_request(f"{_JSON_WORD} 'json_object'.", param="text.format"),
    "missing-schema-name": invalid_request(
        "Missing required parameter: 'text.format.name'.", "missing_required_parameter", "text.format.name"
    ),
    "moved-parameter": invalid_request(
        "Unsupported parameter: 'response_format'. In the Responses API, this parameter has moved to 'text.format'. "
        "Try again with the new parameter.",
        "unsupported_parameter",
    ),
    "model-without-this-interface": invalid_request(
        "The requested model 'json_schema' is not supported with the Responses API.", "model_not_found", "model"
    ),
    "content-filter-azure": CONTENT_FILTER_OF_AZURE,
    "invalid-prompt": INVALID_PROMPT,
    "message-names-the-format": invalid_request(
        'Could not parse input[1].content: unexpected text after "text.format": json_schema', param="input[1].content"
    ),
    "echoed-rejection": invalid_request(f"Invalid content in input[1]: '{_MODEL_REJECTION}'", param="input[1]"),
    "echoed-rejection-on-a-line": invalid_request(f"Your input was refused:\n{_SCHEMA_REJECTION}", param="input"),
    "echoed-in-flat-body": shaped(
        {"object": "error", "message": f"Bad input: {VLLM_MESSAGE}", "type": "BadRequestError", "code": 400}
    ),
    "echoed-in-string-body": shaped({"code": "invalid-argument", "error": f"Bad input: {_MODEL_REJECTION}"}),  # xAI
    **{
        f"rejection-as-{status}": dataclasses.replace(_SCHEMA, status=status)
        for status in (401, 403, 404, 409, 413, 429, 500, 503)
    },
}
