"""What an application makes to have its calls watched."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from treelang.observability.logs import LoggingSink
from treelang.observability.operation import Operation, enclosing
from treelang.observability.redaction import Redaction
from treelang.observability.sink import TraceSink
from treelang.observability.transport import WatchedTransport
from treelang.transports.contract import ModelTransport

if TYPE_CHECKING:
    from treelang.tools.provider import ToolProvider

_log = logging.getLogger(__name__)


class Observability:
    """Sends events about calls of models and tools to sinks, redacted beforehand (SEC-4).

    ```python
    observability = Observability(sinks=[LoggingSink(), OpenTelemetrySink()])
    transport = observability.watch_transport(transport)
    provider = observability.watch_tools(provider)
    ```

    Whatever a sink raises, the call goes on; the log says so once for each sink.

    Args:
        sinks: Where events go. Without any given they go to the log of `treelang.observability`.
        logger: Another log for the events, in place of that one.
        tracer: A sink beside the log.
        allow_content: Whether prompts, output, arguments, results and the words of exceptions may be shown. What looks
            like a credential never is.
    """

    def __init__(
        self,
        sinks: Iterable[TraceSink] | None = None,
        *,
        logger: logging.Logger | None = None,
        tracer: TraceSink | None = None,
        allow_content: bool = False,
    ) -> None:
        given = list(sinks) if sinks is not None else []
        if sinks is None or logger is not None:
            given.append(LoggingSink(logger))
        if tracer is not None:
            given.append(tracer)
        self._sinks = tuple(given)
        self._failing: set[int] = set()
        self.allow_content = allow_content

    def watch_transport(self, transport: ModelTransport, *, provider: str | None = None) -> WatchedTransport:
        """A transport that makes the calls of another and tells of each.

        Around a `RetryingTransport` it tells of one call whatever its attempts; inside of one, of every attempt.

        Args:
            transport: The transport that makes the calls. It remains its owner's to close.
            provider: Name of the deployment in events, where the transport does not say it.
        """
        return WatchedTransport(transport, self, provider=provider)

    def watch_tools(self, provider: ToolProvider) -> ToolProvider:
        """A tool provider that makes the calls of another and tells of each.

        Args:
            provider: The provider that makes the calls. It remains its owner's to close.
        """
        # Loaded here because it needs pydantic, and `import treelang` is not to wait for that.
        from treelang.observability.tools import WatchedToolProvider

        return WatchedToolProvider(provider, self)

    def operation(self, name: str, **attributes: Any) -> Operation:
        """A context manager that tells when its block begins and how it ends, and joins what happens inside.

        Args:
            name: What is done, such as `arborist.eval`.
            attributes: What the first event tells; they are redacted.
        """
        return Operation(name, attributes, Redaction(allow_content=self.allow_content), self._record)

    def emit(self, event: str, **attributes: Any) -> None:
        """Tell of something that just happened; the operation around it is named as its parent.

        Args:
            event: What happened, such as `arborist.fallback`.
            attributes: More about it; they are redacted.
        """
        self._record(event, enclosing() | Redaction(allow_content=self.allow_content).attributes(attributes))

    def _record(self, event: str, attributes: Mapping[str, Any]) -> None:
        for sink in self._sinks:
            try:
                sink.record(event, attributes)
            # Nobody can cancel a function that does not wait: such a cancellation is the sink's own failure.
            except (Exception, asyncio.CancelledError) as error:
                self._report(sink, error)

    def _report(self, sink: TraceSink, error: BaseException) -> None:
        if id(sink) in self._failing:
            return
        self._failing.add(id(sink))
        with contextlib.suppress(Exception):  # logging may be what fails
            _log.warning(
                "the sink %s failed with %s; events may be missing from it, and this is said once",
                type(sink).__name__,
                type(error).__name__,
            )
