"""Where events go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class TraceSink(Protocol):
    """A destination for events. What reaches it is redacted already, and made of JSON values alone.

    It is called in the task that makes the call, between the call's own steps: it should be quick and leave slow work
    to a queue or thread of its own. What it raises breaks no call. It may be called from several threads.
    """

    def record(self, event: str, attributes: Mapping[str, Any]) -> None:
        """Take one event.

        Args:
            event: What happened, such as `tool.call.completed`.
            attributes: JSON values by name, to be read only: all sinks get the same. `call_id` joins the events of
                one call.
        """
        ...
