"""Neither deep nesting nor deep recursion meets Python's stack, and what is deep can be ended at once."""

from __future__ import annotations

import asyncio
import sys
import traceback
import tracemalloc
from typing import Any

import pytest

from tests.treelang.language.programs import (
    call,
    choice,
    define,
    function,
    literal,
    memo,
    over,
    program,
    program2,
    tool,
    value,
    variable,
)
from tests.treelang.runtime.tools import Functions, evaluate, run
from treelang.errors import ExecutionLimitError, ToolExecutionError
from treelang.language.node import MAX_DEPTH
from treelang.runtime.trampoline import descend, driven

CALLS = 100_000
n, minus_one = variable("n"), tool("add", a=variable("n"), b=literal(-1))
is_zero = tool("at_most", a=n, b=literal(0))


def arithmetic() -> Functions:
    provider = Functions(add=lambda a, b: a + b, at_most=lambda a, b: a <= b, negate=lambda x: not x)
    provider.calls = _Forgetful()
    return provider


class _Forgetful(list[Any]):
    def append(self, item: Any) -> None:
        pass


def recursion(depth: int, **functions: dict[str, Any]) -> dict[str, Any]:
    definitions = [define(name, ["n"], choice(is_zero, literal(True), body)) for name, body in functions.items()]
    return program2(call("f", literal(depth)), definitions=definitions)


@pytest.mark.parametrize(
    ("functions", "depth", "expected"),
    [
        ({"f": call("f", minus_one)}, CALLS, True),
        ({"f": tool("add", a=literal(1), b=call("f", minus_one))}, CALLS, CALLS + 1),
        ({"f": choice(call("f", minus_one), literal(1), literal(2))}, CALLS // 5, 1),
        ({"f": tool("negate", x=call("g", minus_one)), "g": call("f", minus_one)}, CALLS // 5, True),
        ({"f": call("g", minus_one), "g": tool("negate", x=call("f", minus_one))}, CALLS // 5, True),
        ({"f": call("g", call("f", minus_one)), "g": n}, CALLS // 5, True),
        (
            {"f": call("g", minus_one), "g": call("h", minus_one), "h": tool("negate", x=call("f", n))},
            CALLS // 5,
            False,
        ),
    ],
    ids=["tail", "value", "condition", "mutual", "mutual the other way", "argument", "three"],
)
def test_recursion_is_not_bounded_by_pythons_stack(functions: dict[str, Any], depth: int, expected: Any) -> None:
    assert run(recursion(depth, **functions), arithmetic(), max_call_depth=2 * depth + 2) == expected


def test_a_recursion_that_ends_in_its_call_holds_nothing() -> None:
    peaks = []
    for depth in (1_000, 20_000):
        tracemalloc.start()
        run(recursion(depth, f=call("f", minus_one)), arithmetic())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def deep(depth: int, kind: str) -> dict[str, Any]:
    """A program with a node at that depth, the program counted as 1."""
    node = function("one")
    for _ in range(depth - 2):
        node = {
            "function": lambda inner: function("same", inner),
            "pair": lambda inner: function("second", function("one"), inner),
            "conditional": lambda inner: choice(value("c", 0), value("t", 0), inner),
            "condition": lambda inner: choice(inner, value("t", 1)),
            "program": lambda inner: program(inner, mode="parallel"),
            "iterable": lambda inner: over("filter", ["x"], function("same", value("x")), inner),
        }[kind](node)
    return program(node)


@pytest.mark.parametrize("concurrency", [1, None])
@pytest.mark.parametrize("kind", ["function", "pair", "conditional", "condition", "program", "iterable"])
def test_nesting_is_not_bounded_by_pythons_stack(kind: str, concurrency: int | None) -> None:
    provider = Functions(one=lambda: [1] if kind == "iterable" else 1, same=lambda x: x, second=lambda a, b: b)
    depth = sys.getrecursionlimit() * 3
    raw = deep(depth, kind)
    depth += 2 * (kind == "iterable")  # of which the innermost lambda's body is the deepest part
    expected = [1] if kind == "iterable" else 1
    assert run(raw, provider, max_concurrency=concurrency, max_depth=depth) == expected
    with pytest.raises(ExecutionLimitError, match="limit of depth"):
        run(raw, provider, max_concurrency=concurrency, max_depth=depth - 1)


def test_the_deepest_program_that_can_be_read_can_be_run() -> None:
    assert run(deep(MAX_DEPTH, "function"), Functions(one=lambda: 1, same=lambda x: x)) == 1
    nested = literal(1)
    for _ in range(MAX_DEPTH - 2):
        nested = tool("same", x=nested)
    assert run(program2(nested), Functions(same=lambda x: x)) == 1
    nested = literal(1)
    for number in range(MAX_DEPTH - 2):
        nested = memo(f"m{number}", nested)
    assert run(program2(nested)) == 1


def test_an_error_deep_inside_comes_out_with_a_short_traceback() -> None:
    def fail() -> None:
        raise LookupError

    failing = recursion(20_000, f=tool("add", a=literal(1), b=call("f", minus_one)))
    failing["definitions"][0]["body"]["true_branch"] = tool("fail")
    provider = arithmetic()
    provider.functions["fail"] = fail
    with pytest.raises(ToolExecutionError) as caught:
        run(failing, provider)
    assert len(traceback.extract_tb(caught.value.__traceback__)) < 100


def test_a_deep_recursion_is_cancelled_at_its_deepest_place() -> None:
    async def cancel() -> tuple[bool, bool]:
        reached, ended = asyncio.Event(), False

        async def wait() -> None:
            nonlocal ended
            reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended = True

        hanging = recursion(20_000, f=tool("add", a=literal(1), b=call("f", minus_one)))
        hanging["definitions"][0]["body"]["true_branch"] = tool("wait")
        provider = arithmetic()
        provider.functions["wait"] = wait
        running = asyncio.create_task(evaluate(hanging, provider))
        await reached.wait()
        running.cancel("enough")
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await running
        return ended, running.cancelled()

    assert asyncio.run(cancel()) == (True, True)


def test_the_driver_passes_awaited_results_and_exceptions_to_the_innermost() -> None:
    seen: list[Any] = []

    async def innermost(future: asyncio.Future[int]) -> int:
        try:
            seen.append(await future)
        except LookupError as error:
            seen.append(type(error))
        return 7

    async def outer(future: asyncio.Future[int]) -> int:
        return 10 * await descend(innermost(future))

    async def drive() -> list[int]:
        loop = asyncio.get_running_loop()
        good, bad = loop.create_future(), loop.create_future()
        loop.call_soon(good.set_result, 1)
        loop.call_soon(bad.set_exception, LookupError())
        return [await driven(outer(good)), await driven(outer(bad))]

    assert asyncio.run(drive()) == [70, 70]
    assert seen == [1, LookupError]


def test_the_driver_closes_those_who_wait_the_innermost_first() -> None:
    closed: list[int] = []

    async def level(number: int) -> None:
        try:
            if number == 3:
                raise LookupError
            await descend(level(number + 1))
        finally:
            closed.append(number)

    async def drive() -> None:
        with pytest.raises(LookupError):
            await driven(level(0))

    asyncio.run(drive())
    assert closed == [3, 2, 1, 0]
