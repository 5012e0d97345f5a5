"""Limits are exact and inclusive, named in the error, and fresh for every run."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
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
from tests.treelang.runtime.tools import Functions, Visits, evaluate, run
from treelang.ast import AST
from treelang.errors import ExecutionLimitError
from treelang.runtime.limits import ExecutionLimits


def arithmetic() -> Functions:
    return Functions(same=lambda x: x, add=lambda a, b: a + b, multiply=lambda a, b: a * b, at_most=lambda a, b: a <= b)


@dataclass(frozen=True)
class Row:
    name: str
    program: dict[str, Any]
    expected: Any
    limits: dict[str, int]
    """What the program uses exactly."""


same = function("same", value("x"))
factorial = define(
    "factorial",
    ["n"],
    choice(
        tool("at_most", a=variable("n"), b=literal(1)),
        literal(1),
        tool("multiply", a=variable("n"), b=call("factorial", tool("add", a=variable("n"), b=literal(-1)))),
    ),
)
ROWS = [
    Row("a value", program(value("x", 42)), 42, {"max_nodes": 2, "max_depth": 2}),
    Row("nothing", program(), [], {"max_nodes": 1, "max_depth": 1}),
    Row(
        "calls in calls",
        program(function("same", function("same", value("x", 7)))),
        7,
        {"max_nodes": 4, "max_depth": 4, "max_tool_calls": 2},
    ),
    Row("the branch that is not chosen", program(choice(value("c", 0), same)), None, {"max_nodes": 3, "max_depth": 3}),
    Row(
        "a map counts its lambda once and its body for every item",
        program(over("map", ["x"], same, [1, 2])),
        [1, 2],
        {"max_nodes": 8, "max_depth": 5, "max_tool_calls": 2},
    ),
    Row("a map over nothing", program(over("map", ["x"], same, [])), [], {"max_nodes": 4, "max_depth": 3}),
    Row("a filter", program(over("filter", ["x"], same, [0, 2])), [2], {"max_nodes": 8, "max_tool_calls": 2}),
    Row(
        "a reduce without a start value",
        program(over("reduce", ["a", "b"], function("add", value("a"), value("b")), [1, 2, 3])),
        6,
        {"max_nodes": 10, "max_depth": 5, "max_tool_calls": 2},
    ),
    Row(
        "a reduce with one",
        program(over("reduce", ["a", "b"], function("add", value("a", 0), value("b")), [1, 2, 3])),
        6,
        {"max_nodes": 13, "max_tool_calls": 3},
    ),
    Row(
        "a reduce over nothing",
        program(over("reduce", ["a", "b"], function("add", value("a", 1), value("b")), [])),
        None,
        {"max_nodes": 3, "max_depth": 3},
    ),
    Row(
        "a recursion",
        program2(call("factorial", literal(5)), definitions=[factorial]),
        120,
        # A function's body stands directly below the program, however deep the calls are.
        {"max_nodes": 48, "max_depth": 6, "max_call_depth": 5, "max_tool_calls": 13},
    ),
    Row(
        "calls after each other are no deeper than one",
        program2(
            call("f", call("f", literal(1))), call("f", literal(2)), definitions=[define("f", ["x"], variable("x"))]
        ),
        [1, 2],
        {"max_nodes": 9, "max_call_depth": 1},
    ),
    Row(
        "tail calls are calls",
        program2(
            call("f", literal(1)),
            definitions=[define("f", ["x"], call("g", variable("x"))), define("g", ["x"], variable("x"))],
        ),
        1,
        {"max_nodes": 6, "max_call_depth": 2, "max_depth": 3},
    ),
    Row(
        "a memo counts each time, its expression once",
        program2(memo("k", tool("same", x=literal(1))), memo("k", tool("same", x=literal(1)))),
        [1, 1],
        {"max_nodes": 5, "max_depth": 4, "max_tool_calls": 1},
    ),
]


@pytest.mark.parametrize(
    ("row", "limit"), [pytest.param(row, limit, id=f"{row.name}-{limit}") for row in ROWS for limit in row.limits]
)
def test_a_limit_is_inclusive_and_exact(row: Row, limit: str) -> None:
    enough = row.limits[limit]
    assert run(row.program, arithmetic(), **{limit: enough}) == row.expected
    assert run(row.program, arithmetic(), **row.limits) == row.expected
    if enough == 1:
        return  # there is no smaller limit
    provider = arithmetic()
    with pytest.raises(ExecutionLimitError, match=limit.removeprefix("max_")) as caught:
        run(row.program, provider, **{limit: enough - 1})
    assert (caught.value.resource, caught.value.limit) == (limit.removeprefix("max_"), enough - 1)
    if limit == "max_tool_calls":
        assert len(provider.calls) == enough - 1


@pytest.mark.parametrize(
    ("name", "amount"),
    [
        ("max_nodes", 0),
        ("max_depth", -1),
        ("max_call_depth", "3"),
        ("max_tool_calls", True),
        ("max_concurrency", 1.5),
        ("timeout_seconds", 0),
        ("timeout_seconds", math.nan),
        ("timeout_seconds", math.inf),
    ],
)
def test_a_limit_is_a_positive_number(name: str, amount: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a positive"):
        ExecutionLimits(**{name: amount})


def test_every_run_has_its_limits_for_itself() -> None:
    program_ = AST.parse(program(same_of(3)))
    limits = ExecutionLimits(max_tool_calls=1, max_nodes=3)

    async def many() -> list[Any]:
        return await asyncio.gather(*(AST.eval(program_, arithmetic(), limits) for _ in range(20)))

    assert asyncio.run(many()) == [3] * 20


def same_of(number: int) -> dict[str, Any]:
    return function("same", value("x", number))


def test_the_deadline_ends_a_tool_that_hangs_and_waits_for_its_end() -> None:
    async def hang() -> Visits:
        visits = Visits()
        with pytest.raises(ExecutionLimitError) as caught:
            await evaluate(
                program(function("visit", value("name", 1))), Functions(visit=visits.visit), timeout_seconds=0.01
            )
        assert (caught.value.resource, caught.value.limit) == ("wall_clock_seconds", 0.01)
        return visits

    visits = asyncio.run(hang())
    assert visits.arrived == visits.left == [1]


def test_the_deadline_ends_a_recursion_that_calls_no_tool() -> None:
    for body in (call("f"), choice(call("f"), literal(1), literal(2))):
        endless = program2(call("f"), definitions=[define("f", [], body)])
        with pytest.raises(ExecutionLimitError, match="wall_clock_seconds"):
            run(endless, timeout_seconds=0.02)


def test_the_deadline_ends_a_long_map_whose_tool_never_waits() -> None:
    with pytest.raises(ExecutionLimitError, match="wall_clock_seconds"):
        run(program(over("map", ["x"], same, list(range(200_000)))), arithmetic(), timeout_seconds=0.02)


def test_a_tool_that_makes_nothing_of_the_cancellation_is_too_late_all_the_same() -> None:
    async def stubborn() -> int:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return 1
        return 2

    async def translating() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise LookupError from None

    provider = Functions(stubborn=stubborn, translating=translating)
    for name in provider.functions:
        with pytest.raises(ExecutionLimitError, match="wall_clock_seconds"):
            run(program(function(name)), provider, timeout_seconds=0.01)


def test_a_timeout_of_a_tool_is_not_the_runs() -> None:
    async def late() -> None:
        raise TimeoutError("the tool's own")

    with pytest.raises(TimeoutError, match="the tool's own"):
        run(program(function("late")), Functions(late=late), timeout_seconds=60)


def test_the_callers_deadline_stays_the_callers() -> None:
    async def bounded() -> None:
        async with asyncio.timeout(0.01):
            await evaluate(program(function("hang")), Functions(hang=asyncio.Event().wait), timeout_seconds=60)

    with pytest.raises(TimeoutError) as caught:
        asyncio.run(bounded())
    assert type(caught.value) is TimeoutError
