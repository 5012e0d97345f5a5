"""One watched call, from its first event to its last."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from typing import Any, Self

from treelang.observability.failure import describe_failure
from treelang.observability.redaction import Redaction

_current: ContextVar[str | None] = ContextVar("treelang_current_operation", default=None)


def enclosing() -> dict[str, str]:
    """What joins an event to the operation around it, if there is one."""
    parent = _current.get()
    return {} if parent is None else {"parent_id": parent}


class Operation:
    """A call as its events tell it: `<name>.started`, and one of `completed`, `failed`, `cancelled` and others.

    As a context manager it covers its block, and operations inside of the block name it as their parent. What is
    raised in the block passes unchanged.

    Args:
        name: What is done, such as `tool.call`.
        attributes: What is known from the beginning.
        redaction: What may come out.
        record: Takes each event and what it tells, redacted.
    """

    def __init__(
        self,
        name: str,
        attributes: Mapping[str, Any],
        redaction: Redaction,
        record: Callable[[str, Mapping[str, Any]], None],
    ) -> None:
        self._name = name
        self._redaction = redaction
        self._record = record
        self._call_id = secrets.token_hex(8)
        self._identity = {"call_id": self._call_id} | enclosing()
        self._attributes = dict(attributes)
        self._more: dict[str, Any] = {}
        self._began = 0.0
        self._ended = False
        self._token: Token[str | None] | None = None

    def __enter__(self) -> Self:
        self.begin()
        self._token = _current.set(self._call_id)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self._token is not None:
            # A coroutine that is closed by the garbage collector ends in a foreign context.
            with contextlib.suppress(ValueError):
                _current.reset(self._token)
        self.end(error)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._began

    def add(self, **attributes: Any) -> None:
        """Add to what the last event will tell."""
        self._more.update(attributes)

    def begin(self) -> None:
        """Record the first event."""
        self._began = time.perf_counter()
        self._tell("started", self._attributes)

    def end(self, error: BaseException | None = None, *, outcome: str | None = None) -> None:
        """Record the last event; of several ends the first counts.

        Args:
            error: What the call raised.
            outcome: How it ended, where the error does not say it.
        """
        if self._ended:
            return
        self._ended = True
        told = {"duration_seconds": self.seconds, **self._more}
        if error is not None and outcome is None:
            if isinstance(error, asyncio.CancelledError | GeneratorExit):
                outcome = "cancelled"
            else:
                outcome = "failed"
                told |= describe_failure(error)
        names = {name: value for name, value in self._attributes.items() if isinstance(value, str | bool)}
        self._tell(outcome or "completed", names | told)

    def _tell(self, step: str, attributes: Mapping[str, Any]) -> None:
        known = {name: value for name, value in attributes.items() if value is not None}
        self._record(f"{self._name}.{step}", self._identity | self._redaction.attributes(known))
