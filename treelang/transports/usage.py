"""The usage ledger: each call's usage, kept for the context that made the call (clauses USE-1 to USE-12).

A context variable holds, per ledger, one mutable record. A call opens a record in the context that begins it,
which hides what an earlier call left there (USE-5) and is invisible to other tasks (USE-6). Every report is
written at once, so that a call which is then cancelled, refused or cut keeps what the provider had billed
(USE-8, USE-9), and is bound to the context that made the report: a stream may be begun in one task and consumed
in another (USE-2). The record itself is shared by contexts that inherit it, so it is handed out once (USE-12).
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from treelang.transports.contract import ModelUsage

_ZERO = ModelUsage()


class UsageRecord:
    """The usage of one call while it runs and until it is consumed."""

    __slots__ = ("_counters", "_ledger", "usage")

    def __init__(self, ledger: weakref.ref[UsageLedger]) -> None:
        self._ledger = ledger
        self._counters: dict[str, int] = {}
        self.usage = _ZERO

    def report(self, prompt_tokens: Any = None, completion_tokens: Any = None) -> None:
        """Take running totals as the provider sent them: the last valid value of each counter stands (USE-11).

        Anything but an integer >= 0 counts as not reported (USE-7).
        """
        for name, value in (("prompt_tokens", prompt_tokens), ("completion_tokens", completion_tokens)):
            if type(value) is int and value >= 0:
                self._counters[name] = value
        if self._counters:
            self.usage = ModelUsage(**self._counters, reported=True)
            self.bind()

    def bind(self) -> None:
        """Make this the current context's last call of its ledger."""
        records = _records.get({})
        if records.get(self._ledger) is not self:
            living = {other: kept for other, kept in records.items() if other() is not None}
            _records.set({**living, self._ledger: self})


# One variable for all ledgers, holding each weakly: context variables are never collected, transports should be.
_records: ContextVar[Mapping[weakref.ref[UsageLedger], UsageRecord]] = ContextVar("treelang_usage_records")


class UsageLedger:
    """Context-local usage of one transport. Two ledgers share nothing (USE-10)."""

    def begin(self) -> UsageRecord:
        """Open the record of a call that begins now; what an earlier call left is cleared (USE-5)."""
        record = UsageRecord(weakref.ref(self))
        record.bind()
        return record

    def consume(self) -> ModelUsage:
        """Return the usage of this context's last call and reset it to zero (USE-4)."""
        record = _records.get({}).get(weakref.ref(self))
        if record is None:
            return _ZERO
        usage, record.usage = record.usage, _ZERO
        return usage

    def is_last(self, record: UsageRecord) -> bool:
        """Whether `record` is of this context's last call."""
        return _records.get({}).get(weakref.ref(self)) is record
