"""Running a program."""

from __future__ import annotations

import asyncio
from typing import Any

from treelang.errors import ExecutionLimitError
from treelang.language.program import Program
from treelang.runtime.code import Execution
from treelang.runtime.compilation import compiled
from treelang.runtime.limits import ExecutionLimits
from treelang.tools.provider import ToolProvider


async def evaluate(program: Program, provider: ToolProvider, limits: ExecutionLimits | None = None) -> Any:
    """Run a program with a provider's tools, and give its result.

    The program is not changed, and may be run many times at once; each run has its limits for itself.

    Args:
        program: A program of either format.
        provider: Where its tools are looked up, at their first call, and called.
        limits: What the run may use; by default no limits.

    Returns:
        A JSON value that nobody else holds. A lambda of format 1.0 that nothing applies is an async function.

    Raises:
        ASTValidationError: The program is not valid, or does not fit the tools.
        ASTExecutionError: It could not be carried through; `ExecutionLimitError` where a limit was crossed.
        ToolNotFoundError: The provider has no tool of a name that is called.
        ToolExecutionError: A tool failed; `InvalidToolArgumentsError` where its schema refused the arguments.
        asyncio.CancelledError: The caller, or a tool, cancelled it. Whatever ends a run, nothing of it goes on.
    """
    granted = limits or ExecutionLimits()
    ready = compiled(program, granted.max_depth)
    run = Execution(provider, granted)
    work = run.drive(ready.code.evaluate(run, ready.frame))
    seconds = granted.timeout_seconds
    if seconds is None:
        return await work
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            return await work
    except TimeoutError:
        if deadline.expired():
            raise ExecutionLimitError("wall_clock_seconds", seconds) from None
        raise
