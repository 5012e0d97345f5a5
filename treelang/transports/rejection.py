"""Recognising a provider's explicit rejection of strict structured output, and nothing else (FBK-2, FBK-3).

Providers have no common code for it, so messages decide: anchored at their beginning, because the words occur in
other errors too, and in prompts that errors quote. The forms are those seen of OpenAI, Azure OpenAI, Groq,
DeepSeek, Fireworks, vLLM, LM Studio, Ollama and Anthropic.
"""

from __future__ import annotations

import re

from treelang.transports.error_detail import ErrorDetail

_STATUSES = frozenset({400, 422})

_CODES = frozenset({"invalid_json_schema"})

# Failures whose message may begin like a rejection.
_OTHER_CODES = frozenset(
    {
        "content_filter",
        "context_length_exceeded",
        "invalid_function_parameters",
        "invalid_prompt",
        "json_validate_failed",
        "missing_required_parameter",
        "unsupported_parameter",
        "unsupported_value",
    }
)

_MESSAGE = re.compile(
    "|".join(
        (
            # OpenAI, both interfaces: the model does not take the type, or the schema is not of the subset.
            r"Invalid parameter: '(response_format|text\.format)' of type 'json_schema' is not supported",
            r"Invalid schema for (response_format|text\.format) '",
            # Azure OpenAI with an older interface version.
            r"response_format value as json_schema is enabled only for",
            # Groq.
            r"This model does not support response format [`']json_schema[`']",
            r"invalid schema for response format: response_format/json_schema\b",
            # DeepSeek.
            r"This response_format type is unavailable now",
            # Fireworks.
            r"Extra inputs are not permitted, field: 'response_format\b",
            # vLLM with its grammar engines.
            r"The provided JSON schema contains features not supported by",
            r"Grammar error: ",
            # LM Studio.
            r"'response_format\.json_schema\b[^']*' must be ",
            # Ollama.
            r"invalid format: .*; expected \"json\" or a valid JSON Schema object",
            # Anthropic: the field is unknown to a gateway, a keyword is outside the subset, the grammar is too large.
            r"output_config\.format: Extra inputs are not permitted",
            r"output_config\.format\.schema: (?!Field required)",
            r"output_format: This field is deprecated",
            r"The compiled grammar is too large",
            r"Schema is too complex for compilation",
            r"Grammar compilation timed out",
            r"Schemas contains too many (optional parameters|parameters with union types)",
        )
    ),
    re.DOTALL,
)


def is_structured_output_rejection(status: int, detail: ErrorDetail) -> bool:
    """Whether the answer to a *strict* request says that strict output is not to be had for it.

    Args:
        status: HTTP status of the failing response; anything but 400 and 422 is never a rejection.
        detail: The provider's words, as read from the body.
    """
    if status not in _STATUSES:
        return False
    if detail.origin is not None:
        return is_structured_output_rejection(status, detail.origin)
    if detail.code in _OTHER_CODES or detail.type in _OTHER_CODES:
        return False
    return detail.code in _CODES or _MESSAGE.match(detail.message) is not None
