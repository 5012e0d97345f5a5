"""Branches run at the same time within bounds, and end together: nothing of a run goes on after it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
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
from tests.treelang.runtime.tools import Functions, Visits, evaluate
from treelang.ast import AST
from treelang.errors import ToolExecutionError


def visits_of(count: int, mode: str = "parallel") -> dict[str, Any]:
    return program(*(function("visit", value("name", number)) for number in range(count)), mode=mode)


def in_loop(test: Callable[[Visits, Functions], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in an event loop, with tools that wait; no task may be left behind."""

    async def alone() -> None:
        visits = Visits()
        await test(visits, Functions(visit=visits.visit, fail=fail))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert visits.present == 0

    def in_its_loop() -> None:
        asyncio.run(alone())

    in_its_loop.__name__ = test.__name__
    return in_its_loop


def fail() -> None:
    raise LookupError("what the tool says")


@in_loop
async def test_no_more_branches_are_evaluated_at_once_than_allowed(visits: Visits, provider: Functions) -> None:
    running = asyncio.create_task(evaluate(visits_of(10), provider, max_concurrency=3))
    await visits.expect(3)
    await asyncio.sleep(0)
    assert visits.arrived == [0, 1, 2]
    visits.let_go.set()

    assert await running == list(range(10))
    assert visits.most == 3


@in_loop
async def test_a_single_program_is_evaluated_in_order(visits: Visits, provider: Functions) -> None:
    visits.let_go.set()
    assert await evaluate(visits_of(5, "single"), provider) == list(range(5))
    assert visits.arrived == visits.left == list(range(5))
    assert visits.most == 1


@in_loop
async def test_the_params_of_a_function_are_evaluated_at_once(visits: Visits, provider: Functions) -> None:
    provider.functions["pair"] = lambda a, b, c: [a, b, c]
    params = [function("visit", value("name", 1)), value("x", 2), function("visit", value("name", 3))]
    running = asyncio.create_task(evaluate(program(function("pair", *params)), provider))
    await visits.expect(2)
    visits.let_go.set()

    assert await running == [1, 2, 3]


@in_loop
async def test_nested_branches_do_not_wait_for_each_other(visits: Visits, provider: Functions) -> None:
    visits.let_go.set()
    nested = program(*(visits_of(3) for _ in range(4)), mode="parallel")
    for bound in (1, 2, 3, 5, 100):
        visits.most = 0
        assert await evaluate(nested, provider, max_concurrency=bound) == [[0, 1, 2]] * 4
        assert visits.most <= bound


@in_loop
async def test_branches_that_do_not_wait_share_a_few_tasks(visits: Visits, provider: Functions) -> None:
    most = 0

    async def count(x: int) -> int:
        nonlocal most
        most = max(most, len(asyncio.all_tasks()))
        return x

    async def wait(x: int) -> int:
        await asyncio.sleep(0)
        return await count(x)

    provider.functions |= {"count": count, "wait": wait}
    for name, bound, expected in [("wait", 100, 101), ("count", 100, 20), ("count", None, 20)]:
        most = 0
        many = program(*(function(name, value("x", number)) for number in range(2_000)), mode="parallel")
        assert await evaluate(many, provider, max_concurrency=bound) == list(range(2_000))
        # Now and then even these let others have their turn, and another worker begins.
        assert most <= expected


@in_loop
async def test_without_a_limit_all_branches_are_evaluated_at_once(visits: Visits, provider: Functions) -> None:
    running = asyncio.create_task(evaluate(visits_of(2_000), provider))
    await visits.expect(2_000)
    visits.let_go.set()
    assert await running == list(range(2_000))


@in_loop
async def test_a_permit_that_is_given_back_is_used_by_others(visits: Visits, provider: Functions) -> None:
    """The first branch's own branches end, and then the second branch's get what they had."""
    first = program(*(function("quick", value("x", number)) for number in range(3)), mode="parallel")
    provider.functions["quick"] = lambda x: x
    running = asyncio.create_task(evaluate(program(first, visits_of(3), mode="parallel"), provider, max_concurrency=3))
    await visits.expect(3)
    visits.let_go.set()
    assert await running == [[0, 1, 2]] * 2
    assert visits.most == 3


@in_loop
async def test_what_has_nothing_beside_it_needs_no_task(visits: Visits, provider: Functions) -> None:
    tasks: list[int] = []
    provider.functions["count"] = lambda x: tasks.append(len(asyncio.all_tasks()))
    body = function("count", function("count", value("x")))
    await evaluate(program(over("map", ["x"], body, [1, 2, 3]), value("x", 1), mode="parallel"), provider)
    assert set(tasks) == {1}


@in_loop
async def test_a_memo_is_evaluated_once_whoever_asks_at_once(visits: Visits, provider: Functions) -> None:
    shared = memo("k", tool("visit", name=literal("once")))
    definitions = [define("f", [], shared)]
    running = asyncio.create_task(
        evaluate(program2(shared, call("f"), shared, definitions=definitions, mode="parallel"), provider)
    )
    await visits.expect(1)
    await asyncio.sleep(0)
    visits.let_go.set()

    assert await running == ["once"] * 3
    assert visits.arrived == ["once"]


@in_loop
async def test_a_failing_branch_ends_the_others_and_is_raised_itself(visits: Visits, provider: Functions) -> None:
    started = asyncio.Event()

    async def fail_later() -> None:
        await started.wait()
        fail()

    provider.functions["fail"] = fail_later
    body = [function("visit", value("name", number)) for number in range(3)]
    running = asyncio.create_task(
        evaluate(program(*body, function("fail"), *body, mode="parallel"), provider, max_concurrency=4)
    )
    await visits.expect(3)
    started.set()

    with pytest.raises(ToolExecutionError, match="'fail' failed with LookupError") as caught:
        await running
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.pointer == "/body/3"
    assert visits.arrived == visits.left == [0, 1, 2], "those that had not begun do not begin"


@in_loop
async def test_a_branch_that_fails_at_once_lets_no_other_begin(visits: Visits, provider: Functions) -> None:
    body = [function("fail"), *(function("visit", value("name", number)) for number in range(3))]
    with pytest.raises(ToolExecutionError):
        await evaluate(program(*body, mode="parallel"), provider)
    assert visits.arrived == []


@in_loop
async def test_whoever_waits_for_a_memo_that_fails_is_ended_too(visits: Visits, provider: Functions) -> None:
    async def fail_later() -> None:
        await asyncio.sleep(0)
        fail()

    provider.functions["fail"] = fail_later
    shared = memo("k", tool("fail"))
    with pytest.raises(ToolExecutionError, match="LookupError"):
        await evaluate(program2(shared, shared, shared, mode="parallel"), provider)


@in_loop
async def test_cancelling_a_run_ends_all_its_branches(visits: Visits, provider: Functions) -> None:
    nested = program(visits_of(2), visits_of(2), mode="parallel")
    running = asyncio.create_task(evaluate(nested, provider, timeout_seconds=60))
    await visits.expect(4)
    running.cancel("enough")

    with pytest.raises(asyncio.CancelledError, match="enough"):
        await running
    assert running.cancelled()
    assert sorted(visits.left) == [0, 0, 1, 1]


@in_loop
async def test_a_tool_that_cancels_itself_ends_the_run_as_cancelled(visits: Visits, provider: Functions) -> None:
    async def cancel_me() -> None:
        await visits.expect(2)
        raise asyncio.CancelledError("the tool itself")

    provider.functions["cancel_me"] = cancel_me
    body = [function("visit", value("name", 1)), function("visit", value("name", 2)), function("cancel_me")]
    for mode, lone in (("parallel", body), ("single", [function("cancel_me")])):
        running = asyncio.create_task(evaluate(program(*lone, mode=mode), provider))
        with pytest.raises(asyncio.CancelledError, match="the tool itself"):
            await running
        assert running.cancelled()


@in_loop
async def test_a_tool_that_cancels_its_task_ends_the_run_as_cancelled(visits: Visits, provider: Functions) -> None:
    async def cancel_task() -> None:
        await visits.expect(1)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    provider.functions["cancel_task"] = cancel_task
    running = asyncio.create_task(
        evaluate(program(function("visit", value("name", 1)), function("cancel_task"), mode="parallel"), provider)
    )
    with pytest.raises(asyncio.CancelledError):
        await running


@in_loop
async def test_a_tool_that_makes_nothing_of_the_cancellation_begins_nothing_new(
    visits: Visits, provider: Functions
) -> None:
    async def stubborn(name: int) -> int:
        with contextlib.suppress(asyncio.CancelledError):
            await visits.visit(name)
        return name

    async def fail_later() -> None:
        await visits.expect(2)
        fail()

    provider.functions |= {"visit": stubborn, "fail": fail_later}
    body = [*visits_of(2)["body"], function("fail"), *visits_of(5)["body"]]
    with pytest.raises(ToolExecutionError):
        await evaluate(program(*body, mode="parallel"), provider, max_concurrency=3)
    assert visits.arrived == [0, 1]


@in_loop
async def test_whatever_a_tool_makes_of_the_cancellation_the_run_is_cancelled(
    visits: Visits, provider: Functions
) -> None:
    async def swallow(name: int) -> int:
        with contextlib.suppress(asyncio.CancelledError):
            await visits.visit(name)
        return name

    async def translate(name: int) -> int:
        try:
            return int(await visits.visit(name))
        except asyncio.CancelledError:
            raise LookupError("what the tool made of it") from None

    provider.functions["next"] = lambda x: visits.arrived.append("next")
    for waiting in (swallow, translate):
        visits.arrived.clear()
        provider.functions["visit"] = waiting
        call_next = function("next", function("visit", value("name", 1)))
        running = asyncio.create_task(evaluate(program(call_next), provider))
        await visits.expect(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert visits.arrived == [1]


@in_loop
async def test_a_look_up_that_makes_nothing_of_the_cancellation_is_no_way_on(
    visits: Visits, provider: Functions
) -> None:
    class Stubborn(Functions):
        async def get_tool_definition(self, name: str) -> Any:
            with contextlib.suppress(asyncio.CancelledError):
                await visits.visit(name)
            return self.definition(name)

    stubborn = Stubborn(same=lambda x: x)
    running = asyncio.create_task(evaluate(program(function("same", value("x", 1))), stubborn))
    await visits.expect(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stubborn.calls == []


@in_loop
async def test_a_run_in_a_task_that_was_cancelled_before_is_not_cancelled(visits: Visits, provider: Functions) -> None:
    visits.let_go.set()

    async def clean_up() -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            visits.left.append(await evaluate(visits_of(2), provider, max_concurrency=1))

    running = asyncio.create_task(clean_up())
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert visits.left[-1] == [0, 1]


@in_loop
async def test_a_long_evaluation_without_waiting_can_be_cancelled(visits: Visits, provider: Functions) -> None:
    provider.functions["same"] = lambda x: x
    endless = [
        program(over("map", ["x"], function("same", value("x")), list(range(300_000)))),
        program2(call("f"), definitions=[define("f", [], call("f"))]),
        program2(call("f"), definitions=[define("f", [], tool("same", x=call("f")))]),
        program2(call("f"), definitions=[define("f", [], choice(call("f"), call("f"), literal(1)))]),
    ]
    for raw in endless:
        running = asyncio.create_task(evaluate(raw, provider))
        for _ in range(3):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@in_loop
async def test_one_program_runs_many_times_at_once_and_stays_as_it_is(visits: Visits, provider: Functions) -> None:
    raw = program(over("map", ["x"], function("visit", value("x")), [[1], [2]]), mode="parallel")
    read = AST.parse(raw)
    running = [asyncio.create_task(AST.eval(read, provider)) for _ in range(10)]
    await visits.expect(10)
    visits.let_go.set()

    assert await asyncio.gather(*running) == [[[1], [2]]] * 10
    assert read == AST.parse(raw)


@in_loop
async def test_expressions_of_format_2_are_evaluated_in_order_inside_a_branch(
    visits: Visits, provider: Functions
) -> None:
    provider.functions["pair"] = lambda a, b: [a, b]
    visits.let_go.set()
    both = tool("pair", a=tool("visit", name=literal(1)), b=call("f", tool("visit", name=literal(2))))
    assert await evaluate(program2(both, definitions=[define("f", ["x"], variable("x"))]), provider) == [1, 2]
    assert visits.most == 1
