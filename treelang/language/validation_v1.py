"""Format 1.0: lambdas and the values that stand for their parameters."""

from __future__ import annotations

from collections.abc import Iterator

from treelang.language.defects import fail, require_unique
from treelang.language.node import Node
from treelang.language.pointer import Path
from treelang.language.v1 import TreeFilter, TreeLambda, TreeMap, TreeProgram, TreeReduce, TreeValue


def own_values(function: TreeLambda, path: Path = None) -> Iterator[tuple[TreeValue, Path, bool]]:
    """The values that a lambda's parameters can stand for, in the order of the text.

    That is all of its body but what is inside inner lambdas: a lambda does not reach into those.

    Yields:
        The value, its path, and whether it is passed to the lambda's function directly.
    """
    pending = [(node, place, True) for node, place in function.body.children((path, "body"))]
    pending.reverse()
    while pending:
        node, place, direct = pending.pop()
        if isinstance(node, TreeValue):
            yield node, place, direct
        elif not isinstance(node, TreeLambda):
            pending.extend((child, below, False) for child, below in reversed(list(node.children(place))))


def start_value(function: TreeLambda) -> object:
    """What a reduction with this lambda starts from: the value at its accumulator's first place; null is none."""
    return next(value.value for value, _, _ in own_values(function) if value.name == function.params[0])


def check_lambdas(program: TreeProgram, path: Path) -> None:
    """Require that every lambda fits its values and the node that uses it.

    Raises:
        ASTValidationError: One does not.
    """
    pending: list[tuple[Node, Path]] = [(program, path)]
    while pending:
        node, place = pending.pop()
        if isinstance(node, TreeValue):
            continue
        if isinstance(node, TreeLambda):
            _check_values(node, place)
        elif isinstance(node, TreeMap | TreeFilter):
            _check_arity(node, 1, "the item", place)
        elif isinstance(node, TreeReduce):
            _check_arity(node, 2, "the accumulator and the item", place)
            _check_values(node.function, (place, "function"))
            _check_start(node, place)
            pending += node.function.body.children(((place, "function"), "body"))
            pending.append((node.iterable, (place, "iterable")))
            continue
        pending.extend(node.children(place))


def _check_arity(node: TreeMap | TreeFilter | TreeReduce, arity: int, meaning: str, path: Path) -> None:
    count = len(node.function.params)
    if count != arity:
        fail(
            f"the lambda of a {node.type} has {arity} parameter{'s' * (arity > 1)}, {meaning}, and not {count}",
            ((path, "function"), "params"),
        )


def _check_values(function: TreeLambda, path: Path) -> None:
    require_unique(function.params, "parameter", (path, "params"))
    params = set(function.params)
    unused = dict.fromkeys(function.params)
    for value, place, _ in own_values(function, path):
        unused.pop(value.name, None)
        if value.value is None and value.name not in params:
            fail(
                f"the null value {value.name!r} stands for no parameter of its lambda: name it like one of "
                f"{list(function.params)}, or give it a value",
                place,
            )
    for name in unused:
        fail(f"the parameter {name!r} is not used: name a value in the body so, or remove it", (path, "params"))


def _check_start(node: TreeReduce, path: Path) -> None:
    _, item = node.function.params
    if start_value(node.function) is None and not all(
        direct for value, _, direct in own_values(node.function) if value.name == item
    ):
        fail(
            f"the reduction has no start value, but does more with its item {item!r} than pass it to the function "
            "directly: give the accumulator another value than null",
            path,
        )
