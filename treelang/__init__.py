"""Plan with a model, execute locally; at the heart a trustworthy boundary, the model transport."""

from treelang.errors import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
    TreelangError,
)
from treelang.transports.contract import (
    CapabilityAwareTransport,
    ModelCapabilities,
    ModelRequest,
    ModelTransport,
    ModelUsage,
    UsageAwareTransport,
)

__all__ = [
    "CapabilityAwareTransport",
    "ModelAuthenticationError",
    "ModelCapabilities",
    "ModelConnectionError",
    "ModelRateLimitError",
    "ModelRequest",
    "ModelTimeoutError",
    "ModelTransport",
    "ModelTransportError",
    "ModelUsage",
    "ProviderResponseError",
    "StructuredOutputUnsupportedError",
    "TreelangError",
    "UsageAwareTransport",
]
