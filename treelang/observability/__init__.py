"""Events about calls of models and tools, redacted before anybody sees them (SEC-4)."""

from typing import TYPE_CHECKING, Any

from treelang.observability.credentials import REDACTED
from treelang.observability.logs import LoggingSink
from treelang.observability.observer import Observability
from treelang.observability.operation import Operation
from treelang.observability.redaction import redact
from treelang.observability.sink import TraceSink
from treelang.observability.transport import WatchedTransport

if TYPE_CHECKING:
    from treelang.observability.opentelemetry import OpenTelemetrySink

__all__ = [
    "REDACTED",
    "LoggingSink",
    "Observability",
    "OpenTelemetrySink",
    "Operation",
    "TraceSink",
    "WatchedTransport",
    "redact",
]


def __getattr__(name: str) -> Any:
    # OpenTelemetry is an extra.
    if name == "OpenTelemetrySink":
        from treelang.observability.opentelemetry import OpenTelemetrySink

        return OpenTelemetrySink
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
