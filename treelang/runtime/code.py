"""What nodes are compiled to: functions of an execution and of the values that names stand for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

from treelang.errors import ExecutionLimitError
from treelang.language.json_value import copy_json
from treelang.language.pointer import Path, pointer
from treelang.runtime.branches import Permits
from treelang.runtime.budget import Budget
from treelang.runtime.limits import ExecutionLimits
from treelang.runtime.tools import Cancellation, Tools
from treelang.runtime.trampoline import descend, driven
from treelang.tools.provider import ToolProvider

Frame: TypeAlias = tuple[Any, ...]
"""What names stand for. In format 1.0 the values of a lambda's parameters; in format 2.0 how deep the call is, how
many others it stands on on Python's stack, and the values of the function's parameters."""


class Memo:
    """The value of a memoised expression, or the promise of one."""

    __slots__ = ("ready", "value")

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.value: Any = None


class Execution(Budget):
    """What belongs to one run of a program. All values in it are its own: no tool and no program holds them as well."""

    __slots__ = ("_cancellation", "memos", "permits", "tools")

    def __init__(self, provider: ToolProvider, limits: ExecutionLimits) -> None:
        super().__init__(limits)
        self._cancellation = Cancellation()
        self.tools = Tools(provider, self, self._cancellation)
        self.permits = Permits(limits.max_concurrency)
        self.memos: dict[str, Memo] = {}

    def drive(self, work: Coroutine[Any, Any, Any]) -> Awaitable[Any]:
        """Evaluate something in the current task, as the first thing there."""
        return driven(work, self._cancellation.notice)


Evaluate: TypeAlias = Callable[[Execution, Frame], Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True)
class Code:
    """How a node is evaluated."""

    evaluate: Evaluate
    """Counts the node and gives its value."""
    get: Callable[[Frame], Any] | None = None
    """The value of a node that has nothing to evaluate. Whoever takes it so counts the node."""
    gives_rest: bool = False
    """Whether the evaluation may give a `Rest` in place of the value. Then the code is for those who know."""


CALLS_ON_ONE_STACK = 8
"""How many evaluations of function bodies may stand on each other on Python's stack before one gets a fresh one."""


class Rest:
    """What is left to do for a value, for the one who has asked for the value.

    So a call of a function does not wait for the function's body, and a choice not for the branch. A deep recursion
    holds only those who have something to do afterwards, and one that ends in its call nobody.
    """

    __slots__ = ("depth", "evaluate", "values")

    evaluate: Evaluate

    def __init__(self, depth: int = 0, values: list[Any] | None = None) -> None:
        self.depth = depth
        """How deep the call is."""
        self.values = values
        """The values of the function's parameters; `None` to go on with the frame of the node that gave this."""


def settled(code: Code) -> Code:
    """The same code without a rest."""
    if not code.gives_rest:
        return code
    begin = code.evaluate

    async def evaluate(run: Execution, frame: Frame) -> Any:
        value = await begin(run, frame)
        is_high = frame[1] == CALLS_ON_ONE_STACK
        height = 0 if is_high else frame[1] + 1
        while type(value) is Rest:
            if value.values is not None:
                frame = (value.depth, height, *value.values)
            rest = value.evaluate(run, frame)
            value = await (descend(rest) if is_high else rest)
        return value

    return Code(evaluate)


def leaf(get: Callable[[Frame], Any]) -> Code:
    """A node that has nothing to evaluate."""

    async def evaluate(run: Execution, frame: Frame) -> Any:
        run.count_nodes(1)
        return get(frame)

    return Code(evaluate, get)


def constant(value: Any) -> Code:
    """A value that stands in the program."""
    if isinstance(value, list | dict):
        return leaf(lambda frame: copy_json(value))
    return leaf(lambda frame: value)


def parameter(slot: int) -> Code:
    """The value of a parameter."""
    return leaf(itemgetter(slot))


def too_deep(limit: int, path: Path) -> Code:
    """A node that is nested deeper than the execution may go."""

    async def evaluate(run: Execution, frame: Frame) -> Any:
        run.count_nodes(1)
        raise ExecutionLimitError("depth", limit, pointer=pointer(path))

    return Code(evaluate)


def on_fresh_stack(code: Code) -> Code:
    """A node whose evaluation does not stand on that of the nodes above."""

    async def evaluate(run: Execution, frame: Frame) -> Any:
        return await descend(code.evaluate(run, frame))

    return Code(evaluate, gives_rest=code.gives_rest)


def in_turn(codes: Sequence[Code]) -> Evaluate:
    """The list of the values of nodes that are evaluated one after the other."""
    evaluations = [settled(code).evaluate for code in codes]

    async def evaluate(run: Execution, frame: Frame) -> list[Any]:
        return [await evaluation(run, frame) for evaluation in evaluations]

    return evaluate


def at_once(codes: Sequence[Code]) -> Evaluate:
    """The list of the values of nodes that are evaluated at the same time, where there is more than one to evaluate."""
    working = [settled(code).evaluate for code in codes if code.get is None]
    values_in_turn = in_turn(codes)
    if len(working) <= 1:
        return values_in_turn

    async def evaluate(run: Execution, frame: Frame) -> list[Any]:
        if run.permits.single:
            values: list[Any] = await values_in_turn(run, frame)
            return values
        run.count_nodes(len(codes) - len(working))
        results = iter(await run.permits.run(working, lambda evaluation: run.drive(evaluation(run, frame))))
        return [next(results) if code.get is None else code.get(frame) for code in codes]

    return evaluate


def program(codes: Sequence[Code], mode: str) -> Code:
    """A program: the value of its one node, or the list of its nodes' values."""
    values = at_once(codes) if mode == "parallel" else in_turn(codes)

    async def evaluate(run: Execution, frame: Frame) -> Any:
        run.count_nodes(1)
        results = await values(run, frame)
        return results[0] if len(results) == 1 else results

    return Code(evaluate)


def tool_call(name: str, names: Sequence[str] | None, codes: Sequence[Code], path: Path, *, apart: bool) -> Code:
    """A call of a tool.

    Args:
        name: The tool.
        names: The arguments' names; `None` pairs them with the tool's properties.
        codes: The arguments.
        path: The place of the call.
        apart: Whether the arguments are evaluated at the same time.
    """
    count = len(codes)
    gets = [code.get for code in codes if code.get is not None]
    values_at_once = at_once(codes) if apart and count - len(gets) > 1 else None

    async def evaluate(run: Execution, frame: Frame) -> Any:
        run.count_nodes(1)
        tool = run.tools.known.get(name) or await run.tools.find(name, path)
        keys = tool.positional(count, path) if names is None else names
        if values_at_once is not None:
            return await tool.call(keys, await values_at_once(run, frame), path)
        values = []
        for code in codes:
            if code.get is not None:
                run.count_nodes(1)
                values.append(code.get(frame))
                continue
            value = await code.evaluate(run, frame)
            if type(value) is Rest:
                # As in `settled`, but without a coroutine that a deep recursion would hold at every level.
                is_high = frame[1] == CALLS_ON_ONE_STACK
                height = 0 if is_high else frame[1] + 1
                inner = frame
                while type(value) is Rest:
                    if value.values is not None:
                        inner = (value.depth, height, *value.values)
                    rest = value.evaluate(run, inner)
                    value = await (descend(rest) if is_high else rest)
            values.append(value)
        return await tool.call(keys, values, path)

    def evaluate_leaves(run: Execution, frame: Frame) -> Coroutine[Any, Any, Any]:
        # The same without a coroutine of its own.
        tool = run.tools.known.get(name)
        if tool is None:
            return evaluate(run, frame)
        keys = tool.positional(count, path) if names is None else names
        run.count_nodes(1 + count)
        return tool.call(keys, [get(frame) for get in gets], path)

    return Code(evaluate_leaves if len(gets) == count else evaluate)
