"""The transport contract as types: what an adapter takes, gives and may additionally declare."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

ModelRequest: TypeAlias = Mapping[str, Any]
"""A model request in the chat form, read and never changed by a transport (clause CMP-3).

Keys: `model` (str), `messages` (sequence of mappings with `role` system, user or assistant and `content` text);
optionally `temperature` (float), `max_tokens` (int, tokens), `tools` (function tools in the chat form) and
`response_format` (`{"type": "json_object"}`, or `{"type": "json_schema", "json_schema": {"name", "strict",
"schema"}}`).
"""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The provider's own two token counters of one call (clauses USE-1, USE-3).

    `reported` tells an unknown usage from a true zero (USE-7) and takes no part in equality.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reported: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class ModelCapabilities:
    """What a transport can do with one model. The defaults are those of an unknown model: nothing (CAP-2).

    Attributes:
        strict_json_schema: Whether the provider enforces a JSON Schema on the answer.
        temperature: Whether the model takes a temperature.
        recursive_schemas: Whether an enforced schema may refer to itself and give patterns for texts, within the bounds
            that OpenAI documents. Without it only such schemas are sent as every known provider takes, within the
            bounds that Anthropic documents. It says more about strict output, and takes no part in equality.
    """

    strict_json_schema: bool = False
    temperature: bool = False
    recursive_schemas: bool = field(default=False, compare=False)


@runtime_checkable
class ModelTransport(Protocol):
    """An adapter over one provider. Failures leave it as errors of `treelang.errors` or as `CancelledError`."""

    async def complete(self, request: ModelRequest) -> str:
        """Return the whole text that the provider produced, with exactly one HTTP request (CMP-1, CMP-2)."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the text in non-empty chunks as they arrive (STR-1, STR-2). The call begins with the first step."""
        ...


@runtime_checkable
class UsageAwareTransport(ModelTransport, Protocol):
    """A transport that reports what the last call of the current context cost."""

    def consume_usage(self) -> ModelUsage:
        """Return the usage of this context's last call and reset it to zero (USE-1, USE-4)."""
        ...


@runtime_checkable
class CapabilityAwareTransport(ModelTransport, Protocol):
    """A transport that declares what it can do with a model."""

    def capabilities(self, model: str) -> ModelCapabilities:
        """Return the capabilities of `model`, without I/O and without raising for any string (CAP-1)."""
        ...
