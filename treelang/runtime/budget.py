"""What one execution has used of what it was granted."""

from __future__ import annotations

import sys

from treelang.errors import ExecutionLimitError
from treelang.runtime.limits import ExecutionLimits

_UNLIMITED = sys.maxsize
_STEPS_BETWEEN_YIELDS = 200
"""Calls of tools or functions that may follow each other before others get their turn: about a millisecond."""


class Budget:
    """The counters of one execution."""

    __slots__ = ("_max_call_depth", "_max_nodes", "_max_tool_calls", "_nodes", "_steps", "_tool_calls")

    def __init__(self, limits: ExecutionLimits) -> None:
        self._max_nodes = limits.max_nodes or _UNLIMITED
        self._max_call_depth = limits.max_call_depth or _UNLIMITED
        self._max_tool_calls = limits.max_tool_calls or _UNLIMITED
        self._nodes = 0
        self._tool_calls = 0
        self._steps = 0

    def count_nodes(self, count: int) -> None:
        """Take the evaluation of so many nodes.

        Raises:
            ExecutionLimitError: There are not so many left.
        """
        self._nodes += count
        if self._nodes > self._max_nodes:
            raise ExecutionLimitError("nodes", self._max_nodes)

    def count_tool_call(self) -> bool:
        """Take one call of a tool.

        Returns:
            Whether it is time to let the event loop do other things. Without that, a long evaluation whose tools never
            wait could not be cancelled, and would meet no deadline.

        Raises:
            ExecutionLimitError: There is none left.
        """
        self._tool_calls += 1
        if self._tool_calls > self._max_tool_calls:
            raise ExecutionLimitError("tool_calls", self._max_tool_calls)
        self._steps += 1
        return self._steps % _STEPS_BETWEEN_YIELDS == 0

    def enter_call(self, depth: int) -> bool:
        """Take one more call inside so many others, itself counted.

        Returns:
            Whether it is time to let the event loop do other things.

        Raises:
            ExecutionLimitError: So many may not be under way.
        """
        if depth > self._max_call_depth:
            raise ExecutionLimitError("call_depth", self._max_call_depth)
        self._steps += 1
        return self._steps % _STEPS_BETWEEN_YIELDS == 0
