"""What one execution may use."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """Limits of one execution, each inclusive; `None` is no limit.

    Crossing one raises `ExecutionLimitError`, except for `max_concurrency`, which makes branches wait.

    Raises:
        ValueError: A limit is no positive number.
    """

    max_nodes: int | None = None
    """Evaluations of nodes, repeated ones counted each time."""
    max_depth: int | None = None
    """How deep an evaluated node may be nested; the program counts as 1. Calls do not add to it: a function's body
    stands directly below the program."""
    max_call_depth: int | None = None
    """Calls of a program's functions that are under way at once, one inside the other."""
    max_tool_calls: int | None = None
    """Calls that reach the tool provider."""
    max_concurrency: int | None = None
    """Branches that are evaluated at the same time."""
    timeout_seconds: float | None = None
    """Wall-clock time of the whole execution, in seconds; the resource is called `wall_clock_seconds`."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kinds, words = (int | float, "number") if field.name == "timeout_seconds" else (int, "integer")
            if value is None:
                continue
            if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value < math.inf:
                raise ValueError(f"{field.name} must be a positive {words}, or None for no limit")
