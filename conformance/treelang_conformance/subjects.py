"""Factories of the adapters that treelang brings, for `treelang conformance run treelang_conformance.subjects:...`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from treelang import ModelTransport, ToolProvider
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.hosting import HostedTool


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


async def functions(tools: Sequence[HostedTool]) -> ToolProvider:
    """Python functions, as `FunctionToolProvider` reads them (suite `tools`)."""
    from treelang_conformance.hosts import functions as host

    return await host.host(tools)


def mcp(tools: Sequence[HostedTool]) -> AbstractAsyncContextManager[ToolProvider]:
    """A real MCP server on the loopback, and `MCPToolProvider` connected to it (suite `tools`)."""
    from treelang_conformance.hosts import mcp as host

    return host.host(tools)
