"""Factories of the adapters that treelang brings, for `treelang conformance run treelang_conformance.subjects:...`."""

from __future__ import annotations

from treelang import ModelTransport
from treelang_conformance.endpoint import Endpoint


def openai_chat(endpoint: Endpoint) -> ModelTransport:
    """The OpenAI adapter for chat completions (wire `openai-chat`)."""
    from treelang import OpenAITransport

    return OpenAITransport(api_key=endpoint.api_key, base_url=endpoint.url, timeout=endpoint.timeout)


def openai_responses(endpoint: Endpoint) -> ModelTransport:
    """The OpenAI adapter for responses (wire `openai-responses`)."""
    from treelang import OpenAIResponsesTransport

    return OpenAIResponsesTransport(api_key=endpoint.api_key, base_url=endpoint.url, timeout=endpoint.timeout)


def anthropic_messages(endpoint: Endpoint) -> ModelTransport:
    """The Anthropic adapter for messages (wire `anthropic-messages`)."""
    from treelang import AnthropicTransport

    return AnthropicTransport(api_key=endpoint.api_key, base_url=endpoint.url, timeout=endpoint.timeout)
