"""Code of the nodes of format 1.0."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeAlias

from treelang.errors import ASTTypeError
from treelang.language.json_value import copy_json, kind_of
from treelang.language.pointer import pointer
from treelang.language.v1 import (
    TreeConditional,
    TreeFilter,
    TreeFunction,
    TreeLambda,
    TreeMap,
    TreeProgram,
    TreeReduce,
    TreeValue,
)
from treelang.language.validation_v1 import start_value
from treelang.runtime.code import (
    Code,
    Evaluate,
    Execution,
    Frame,
    constant,
    parameter,
    program,
    tool_call,
)
from treelang.runtime.site import Site


class Lambda:
    """What a lambda gives where nothing applies it at once: a function of its parameters.

    A call belongs to the run that made the function, and uses what that run was granted.
    """

    def __init__(self, run: Execution, names: tuple[str, ...], body: Evaluate) -> None:
        self.body = body
        self._run = run
        self._names = names

    async def __call__(self, *positional: Any, **named: Any) -> Any:
        """Evaluate the lambda's body with these JSON values for its parameters."""
        values = dict(zip(self._names, positional, strict=False)) | named
        if values.keys() != set(self._names) or len(positional) + len(named) != len(values):
            raise TypeError(f"the lambda takes exactly {list(self._names)}, in this order or by name")
        return await self._run.drive(self.body(self._run, tuple(copy_json(values[name]) for name in self._names)))


class FormatV1:
    """How format 1.0 is compiled."""

    frame: Frame = ()

    def below(self, site: Site) -> list[Site]:
        """The nodes below one; a lambda's body knows that lambda's parameters and no others."""
        node, slots = site.node, site.slots
        if isinstance(node, TreeLambda):
            slots = {name: slot for slot, name in enumerate(node.params)}
        return [Site(child, path, site.depth + 1, slots) for child, path in node.children(site.path)]

    def code(self, site: Site) -> Code:
        """The code of a node."""
        codes = site.codes
        match site.node:
            case TreeValue(name=name, value=value):
                return parameter(site.slots[name]) if name in site.slots else constant(value)
            case TreeFunction(tool=name):
                return tool_call(name, None, codes, site.path, apart=True)
            case TreeConditional():
                return _conditional(codes)
            case TreeLambda(params=names):
                return _lambda(names, codes[0].evaluate)
            case TreeMap():
                return _iteration(site, _map)
            case TreeFilter():
                return _iteration(site, _filter)
            case TreeReduce(function=function):
                return _iteration(site, _reduction(start_value(function)))
            case TreeProgram(mode=mode):
                return program(codes, mode)
        raise AssertionError(f"no node of format 1.0: {type(site.node).__name__}")


def _conditional(codes: Sequence[Code]) -> Code:
    condition, true_branch, *others = (code.evaluate for code in codes)
    false_branch = others[0] if others else None

    async def evaluate(run: Execution, frame: Frame) -> Any:
        run.count_nodes(1)
        if await condition(run, frame):
            return await true_branch(run, frame)
        return await false_branch(run, frame) if false_branch is not None else None

    return Code(evaluate)


Enter: TypeAlias = Callable[[], Coroutine[Any, Any, Lambda]]
"""Evaluates the lambda of an iteration."""
Iterate: TypeAlias = Callable[[Execution, Enter, list[Any]], Coroutine[Any, Any, Any]]


def _lambda(names: tuple[str, ...], body: Evaluate) -> Code:
    async def evaluate(run: Execution, frame: Frame) -> Lambda:
        run.count_nodes(1)
        return Lambda(run, names, body)

    return Code(evaluate)


def _iteration(site: Site, iterate: Iterate) -> Code:
    function, iterable = (code.evaluate for code in site.codes)
    kind, path = site.node.type, site.path

    async def evaluate(run: Execution, frame: Frame) -> Any:
        run.count_nodes(1)
        items = await iterable(run, frame)
        if type(items) is not list:
            raise ASTTypeError(f"a {kind} goes over a list, and not over {kind_of(items)}", pointer=pointer(path))
        return await iterate(run, partial(function, run, frame), items)

    return Code(evaluate)


async def _map(run: Execution, enter: Enter, items: list[Any]) -> list[Any]:
    body = (await enter()).body
    return [await body(run, (item,)) for item in items]


async def _filter(run: Execution, enter: Enter, items: list[Any]) -> list[Any]:
    body = (await enter()).body
    return [item for item in items if await body(run, (item,))]


def _reduction(start: Any) -> Iterate:
    async def reduce(run: Execution, enter: Enter, items: list[Any]) -> Any:
        if not items:
            return None
        body = (await enter()).body
        value, rest = (items[0], items[1:]) if start is None else (copy_json(start), items)
        for item in rest:
            value = await body(run, (value, item))
        return value

    return reduce
