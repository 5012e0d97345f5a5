"""Plan with a model, execute locally; at the heart a trustworthy boundary, the model transport.

Importing it costs little: what needs pydantic or compiles models is loaded when its name is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treelang._version import __version__
from treelang.arborist.config import ArboristConfig
from treelang.errors import (
    ASTExecutionError,
    ASTTypeError,
    ASTValidationError,
    ExecutionLimitError,
    InvalidToolArgumentsError,
    MissingDependencyError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
    ToolExecutionError,
    ToolNotFoundError,
    TreelangError,
)
from treelang.observability.observer import Observability
from treelang.observability.sink import TraceSink
from treelang.runtime.limits import ExecutionLimits
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

if TYPE_CHECKING:
    from treelang.arborist.arborist import Arborist
    from treelang.arborist.memory import ChatMessage, ConversationMemory, Memory
    from treelang.arborist.openai import OpenAIArborist
    from treelang.arborist.response import EvalResponse, EvalType
    from treelang.arborist.selection import AllTools, NamedTools, ToolSelector
    from treelang.ast import AST
    from treelang.negotiation import (
        DefaultModelCapabilityNegotiator,
        ModelCapabilityNegotiator,
        StructuredOutputSelection,
    )
    from treelang.tools.definition import ToolDefinition, ToolProperty
    from treelang.tools.functions import FunctionToolProvider
    from treelang.tools.joined import JoinedToolProvider
    from treelang.tools.mcp import MCPToolProvider
    from treelang.tools.provider import ToolOutput, ToolProvider

_LOADED_WHEN_USED = {
    "AST": "treelang.ast",
    "AllTools": "treelang.arborist.selection",
    "Arborist": "treelang.arborist.arborist",
    "ChatMessage": "treelang.arborist.memory",
    "ConversationMemory": "treelang.arborist.memory",
    "DefaultModelCapabilityNegotiator": "treelang.negotiation",
    "EvalResponse": "treelang.arborist.response",
    "EvalType": "treelang.arborist.response",
    "FunctionToolProvider": "treelang.tools.functions",
    "JoinedToolProvider": "treelang.tools.joined",
    "MCPToolProvider": "treelang.tools.mcp",
    "Memory": "treelang.arborist.memory",
    "ModelCapabilityNegotiator": "treelang.negotiation",
    "NamedTools": "treelang.arborist.selection",
    "OpenAIArborist": "treelang.arborist.openai",
    "StructuredOutputSelection": "treelang.negotiation",
    "ToolDefinition": "treelang.tools.definition",
    "ToolOutput": "treelang.tools.provider",
    "ToolProperty": "treelang.tools.definition",
    "ToolProvider": "treelang.tools.provider",
    "ToolSelector": "treelang.arborist.selection",
}
"""Names of this package and the modules that have them; each stands under `TYPE_CHECKING` as well."""

__all__ = [
    "AST",
    "ASTExecutionError",
    "ASTTypeError",
    "ASTValidationError",
    "AllTools",
    "AnthropicTransport",
    "Arborist",
    "ArboristConfig",
    "CapabilityAwareTransport",
    "ChatMessage",
    "CheckedRequest",
    "ConversationMemory",
    "DefaultModelCapabilityNegotiator",
    "ErrorDetail",
    "ErrorRule",
    "ErrorTranslator",
    "EvalResponse",
    "EvalType",
    "ExecutionLimitError",
    "ExecutionLimits",
    "FunctionToolProvider",
    "InvalidToolArgumentsError",
    "JoinedToolProvider",
    "MCPToolProvider",
    "Memory",
    "MissingDependencyError",
    "ModelAuthenticationError",
    "ModelCapabilities",
    "ModelCapabilityNegotiator",
    "ModelConnectionError",
    "ModelRateLimitError",
    "ModelRequest",
    "ModelRequestError",
    "ModelTimeoutError",
    "ModelTransport",
    "ModelTransportError",
    "ModelUsage",
    "NamedTools",
    "Observability",
    "OpenAIArborist",
    "OpenAIResponsesTransport",
    "OpenAITransport",
    "ProviderResponseError",
    "Retry",
    "RetryingTransport",
    "ScriptedReply",
    "ScriptedTransport",
    "StructuredOutputSelection",
    "StructuredOutputUnsupportedError",
    "ToolDefinition",
    "ToolExecutionError",
    "ToolNotFoundError",
    "ToolOutput",
    "ToolProperty",
    "ToolProvider",
    "ToolSelector",
    "TraceSink",
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


def __getattr__(name: str) -> Any:
    module = _LOADED_WHEN_USED.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
