"""Events as structured log records."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any


class LoggingSink:
    """Writes each event as one line of JSON: `{"event": ..., ...}`.

    Formatters that write JSON themselves find the same in the record's attributes `event` and `attributes`. Failures
    are warnings, everything else has the level that is given.

    Args:
        logger: Where to write; `treelang.observability` by default.
        level: The level of what is no failure.
    """

    def __init__(self, logger: logging.Logger | None = None, *, level: int = logging.INFO) -> None:
        self._logger = logger or logging.getLogger("treelang.observability")
        self._level = level

    def record(self, event: str, attributes: Mapping[str, Any]) -> None:
        """Write one event, if the logger takes its level."""
        level = max(self._level, logging.WARNING) if event.endswith(".failed") else self._level
        if self._logger.isEnabledFor(level):
            line = json.dumps({"event": event, **attributes}, sort_keys=True)
            self._logger.log(level, "%s", line, extra={"event": event, "attributes": attributes})
