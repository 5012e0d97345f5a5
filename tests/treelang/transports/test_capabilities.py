"""What is said of models: those of today by name, unknown ones nothing (clauses CAP-1, CAP-2)."""

from __future__ import annotations

import pytest

from treelang import (
    AnthropicTransport,
    ModelCapabilities,
    OpenAIResponsesTransport,
    OpenAITransport,
    RetryingTransport,
)
from treelang.transports import anthropic, openai

NOTHING = ModelCapabilities()
STRICT = ModelCapabilities(strict_json_schema=True)
TEMPERATURE = ModelCapabilities(temperature=True)
BOTH = ModelCapabilities(strict_json_schema=True, temperature=True)

OPENAI_MODELS = {
    "gpt-4o": BOTH,
    "gpt-4o-2024-05-13": TEMPERATURE,
    "gpt-4o-2024-08-06": BOTH,
    "gpt-4o-2024-11-20": BOTH,
    "gpt-4o-mini": BOTH,
    "gpt-4o-mini-2024-07-18": BOTH,
    "gpt-4o-audio-preview": TEMPERATURE,
    "chatgpt-4o-latest": TEMPERATURE,
    "gpt-4.1": BOTH,
    "gpt-4.1-nano-2025-04-14": BOTH,
    "gpt-4": TEMPERATURE,
    "gpt-4-turbo-2024-04-09": TEMPERATURE,
    "gpt-3.5-turbo-0125": TEMPERATURE,
    "o1": STRICT,
    "o1-pro": STRICT,
    "o1-mini": NOTHING,
    "o1-preview": NOTHING,
    "o3": STRICT,
    "o4-mini-2025-04-16": STRICT,
    "o3-deep-research": NOTHING,
    "gpt-5": STRICT,
    "gpt-5-mini": STRICT,
    "gpt-5-chat-latest": TEMPERATURE,
    "gpt-5-pro": STRICT,
    "gpt-5.1": BOTH,
    "gpt-5.2-chat-latest": STRICT,
    "gpt-5.2-pro": STRICT,
    "gpt-5.3-chat-latest": STRICT,
    "gpt-5.4": BOTH,
    "gpt-5.4-mini": BOTH,
    "gpt-5.4-pro": NOTHING,
    "gpt-5.5": STRICT,
    "gpt-5.5-pro": NOTHING,
    "gpt-5.6-terra": STRICT,
    "gpt-6-astra": STRICT,
    "gpt-6-luna": STRICT,
    "gpt-6.1-sol": STRICT,
    "gpt-6.2-sol": NOTHING,
    "gpt-4o-mini-search": NOTHING,
    "openai/gpt-4o": NOTHING,
    "gpt-4o\n": NOTHING,
    "acme-7b": NOTHING,
    "": NOTHING,
}

ANTHROPIC_MODELS = {
    "claude-haiku-4-5": BOTH,
    "claude-haiku-4-5-20251001": BOTH,
    "claude-sonnet-4-5-20250929": BOTH,
    "claude-opus-4-5": BOTH,
    "claude-opus-4-6": BOTH,
    "claude-sonnet-4-6": BOTH,
    "claude-opus-4-1-20250805": BOTH,
    "claude-opus-4-7": STRICT,
    "claude-opus-4-8": STRICT,
    "claude-opus-5": STRICT,
    "claude-opus-5-5": STRICT,
    "claude-sonnet-5": STRICT,
    "claude-haiku-5-5": STRICT,
    "claude-fable-5-1": STRICT,
    "claude-mythos-5": STRICT,
    "claude-mythos-preview": STRICT,
    "claude-opus-4-20250514": TEMPERATURE,
    "claude-sonnet-4-0": TEMPERATURE,
    "claude-3-7-sonnet-latest": TEMPERATURE,
    "claude-3-haiku-20240307": TEMPERATURE,
    "claude-opus-6": NOTHING,
    "claude": NOTHING,
    "acme-7b": NOTHING,
    "": NOTHING,
}


@pytest.mark.parametrize(("model", "capabilities"), OPENAI_MODELS.items())
def test_openai_models(model: str, capabilities: ModelCapabilities) -> None:
    assert openai.model_capabilities(model) == capabilities


@pytest.mark.parametrize(("model", "capabilities"), ANTHROPIC_MODELS.items())
def test_anthropic_models(model: str, capabilities: ModelCapabilities) -> None:
    assert anthropic.model_capabilities(model) == capabilities


@pytest.mark.parametrize(
    ("adapter", "model", "known"),
    [
        (OpenAITransport, "gpt-4o-2024-05-13", TEMPERATURE),
        (OpenAIResponsesTransport, "gpt-4o-2024-05-13", TEMPERATURE),
        (AnthropicTransport, "claude-sonnet-4-0", TEMPERATURE),
    ],
)
def test_strict_json_schema_overrides_what_is_known_of_strict_output_alone(
    adapter: type[OpenAITransport], model: str, known: ModelCapabilities
) -> None:
    assert adapter(api_key="k").capabilities(model) == known
    assert adapter(api_key="k", strict_json_schema=True).capabilities(model) == BOTH
    assert adapter(api_key="k", strict_json_schema=False).capabilities(model) == known


@pytest.mark.parametrize(
    ("adapter", "model", "takes_recursion"),
    [
        (OpenAITransport, "gpt-4o", True),
        (OpenAIResponsesTransport, "gpt-4o", True),
        (AnthropicTransport, "claude-opus-5", False),
    ],
)
def test_recursive_schemas_are_declared_with_strict_output_where_the_provider_documents_them(
    adapter: type[OpenAITransport], model: str, takes_recursion: bool
) -> None:
    assert adapter(api_key="k").capabilities(model).recursive_schemas is takes_recursion
    assert adapter(api_key="k", strict_json_schema=True).capabilities("acme-7b").recursive_schemas is takes_recursion
    assert not adapter(api_key="k", strict_json_schema=False).capabilities(model).recursive_schemas
    assert not adapter(api_key="k").capabilities("acme-7b").recursive_schemas
    assert RetryingTransport(adapter(api_key="k")).capabilities(model).recursive_schemas is takes_recursion
