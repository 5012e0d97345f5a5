"""Plan with a model, execute locally; at the heart a trustworthy boundary, the model transport."""

from treelang._version import __version__
from treelang.errors import (
    MissingDependencyError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
    TreelangError,
)
from treelang.transports.anthropic import AnthropicTransport
from treelang.transports.contract import (
    CapabilityAwareTransport,
    ModelCapabilities,
    ModelRequest,
    ModelTransport,
    ModelUsage,
    UsageAwareTransport,
)
from treelang.transports.error_detail import ErrorDetail
from treelang.transports.openai import OpenAITransport
from treelang.transports.openai_responses import OpenAIResponsesTransport
from treelang.transports.rejection import is_structured_output_rejection
from treelang.transports.request import CheckedRequest, check_request
from treelang.transports.retry_after import parse_retry_after
from treelang.transports.retrying import Retry, RetryingTransport
from treelang.transports.scripted import ScriptedReply, ScriptedTransport
from treelang.transports.translation import ErrorRule, ErrorTranslator, http_rules
from treelang.transports.usage import UsageLedger, UsageRecord

__all__ = [
    "AnthropicTransport",
    "CapabilityAwareTransport",
    "CheckedRequest",
    "ErrorDetail",
    "ErrorRule",
    "ErrorTranslator",
    "MissingDependencyError",
    "ModelAuthenticationError",
    "ModelCapabilities",
    "ModelConnectionError",
    "ModelRateLimitError",
    "ModelRequest",
    "ModelRequestError",
    "ModelTimeoutError",
    "ModelTransport",
    "ModelTransportError",
    "ModelUsage",
    "OpenAIResponsesTransport",
    "OpenAITransport",
    "ProviderResponseError",
    "Retry",
    "RetryingTransport",
    "ScriptedReply",
    "ScriptedTransport",
    "StructuredOutputUnsupportedError",
    "TreelangError",
    "UsageAwareTransport",
    "UsageLedger",
    "UsageRecord",
    "__version__",
    "check_request",
    "http_rules",
    "is_structured_output_rejection",
    "parse_retry_after",
]
