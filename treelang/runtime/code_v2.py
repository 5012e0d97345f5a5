"""Code of the nodes of format 2.0."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from treelang.language.v2 import (
    TreeCall,
    TreeConditional,
    TreeFunctionDefinition,
    TreeLiteral,
    TreeMemo,
    TreeProgram,
    TreeToolCall,
    TreeVariable,
)
from treelang.runtime.code import (
    Code,
    Evaluate,
    Execution,
    Frame,
    Memo,
    Rest,
    constant,
    parameter,
    program,
    settled,
    tool_call,
)
from treelang.runtime.site import Site


class Function:
    """A function of the program. Its body is compiled after those who call it."""

    __slots__ = ("body",)

    body: Evaluate


class FormatV2:
    """How format 2.0 is compiled."""

    frame: Frame = (0, 0)

    def __init__(self, program: TreeProgram) -> None:
        self._functions = {definition.name: Function() for definition in program.definitions}

    def below(self, site: Site) -> list[Site]:
        """The nodes below one; a function's body knows its parameters and no other names."""
        node = site.node
        depth, slots = site.depth + 1, site.slots
        if isinstance(node, TreeFunctionDefinition):
            # The body stands directly below the program, and what the frame holds first is not for it.
            depth, slots = site.depth, {name: slot for slot, name in enumerate(node.params, start=len(self.frame))}
        return [Site(child, path, depth, slots) for child, path in node.children(site.path)]

    def code(self, site: Site) -> Code:
        """The code of a node."""
        codes = site.codes
        match site.node:
            case TreeLiteral(value=value):
                return constant(value)
            case TreeVariable(name=name):
                return parameter(site.slots[name])
            case TreeCall(function=name):
                return _call(self._functions[name], codes)
            case TreeToolCall(tool=name, arguments=arguments):
                return tool_call(name, tuple(arguments), codes, site.path, apart=False)
            case TreeConditional():
                return _conditional(codes)
            case TreeMemo(key=key):
                return _memo(key, settled(codes[0]).evaluate)
            case TreeFunctionDefinition(name=name):
                self._functions[name].body = codes[0].evaluate
                return codes[0]
            case TreeProgram(mode=mode):
                return program(codes[len(self._functions) :], mode)
        raise AssertionError(f"no node of format 2.0: {type(site.node).__name__}")


def _call(function: Function, codes: Sequence[Code]) -> Code:
    count = len(codes)
    gets = [code.get for code in codes if code.get is not None]
    evaluations = [settled(code).evaluate for code in codes]
    has_work = len(gets) < count

    async def evaluate(run: Execution, frame: Frame) -> Rest:
        run.count_nodes(1)
        depth = frame[0] + 1
        if run.enter_call(depth):
            await asyncio.sleep(0)
        values = []
        if has_work:
            for evaluation in evaluations:
                values.append(await evaluation(run, frame))  # noqa: PERF401 - a comprehension is a coroutine more
        else:
            run.count_nodes(count)
            values = [get(frame) for get in gets]
        rest = Rest(depth, values)
        rest.evaluate = function.body
        return rest

    return Code(evaluate, gives_rest=True)


def _conditional(codes: Sequence[Code]) -> Code:
    condition = settled(codes[0]).evaluate
    true_branch, false_branch = Rest(), Rest()
    true_branch.evaluate, false_branch.evaluate = codes[1].evaluate, codes[2].evaluate

    async def evaluate(run: Execution, frame: Frame) -> Rest:
        run.count_nodes(1)
        return true_branch if await condition(run, frame) else false_branch

    return Code(evaluate, gives_rest=True)


def _memo(key: str, expression: Evaluate) -> Code:
    async def evaluate(run: Execution, frame: Frame) -> Any:
        run.count_nodes(1)
        memo = run.memos.get(key)
        if memo is None:
            memo = run.memos[key] = Memo()
            memo.value = await expression(run, frame)
            # Where that fails, the whole run does, and whoever waits for the value is cancelled.
            memo.ready.set()
        elif not memo.ready.is_set():
            await memo.ready.wait()
        return memo.value

    return Code(evaluate)
