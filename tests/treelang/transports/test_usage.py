"""Whose usage a ledger hands out: that of this context's last call, once (clauses USE-4 to USE-12)."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from treelang import ModelUsage, UsageLedger


def call(ledger: UsageLedger, prompt: Any, completion: Any) -> None:
    ledger.begin().report(prompt, completion)


def test_consuming_resets_to_an_unreported_zero() -> None:
    ledger = UsageLedger()
    call(ledger, 3, 4)
    first, second = ledger.consume(), ledger.consume()
    assert (first, first.reported) == (ModelUsage(3, 4), True)
    assert (second, second.reported) == (ModelUsage(), False)


def test_beginning_a_call_clears_what_the_last_one_left() -> None:
    ledger = UsageLedger()
    call(ledger, 3, 4)
    ledger.begin()
    assert ledger.consume() == ModelUsage()


@pytest.mark.parametrize("odd", [None, "3", -1, 3.0, True, [], {}])
def test_only_counts_are_counters(odd: Any) -> None:
    ledger = UsageLedger()
    call(ledger, odd, odd)
    assert ledger.consume().reported is False
    call(ledger, odd, 4)
    assert ledger.consume() == ModelUsage(0, 4)


def test_the_last_valid_value_of_each_counter_stands() -> None:
    ledger = UsageLedger()
    record = ledger.begin()
    record.report(10, 1)
    record.report(None, 5)
    record.report(12, None)
    assert ledger.consume() == ModelUsage(12, 5)


def test_two_ledgers_share_nothing() -> None:
    one, other = UsageLedger(), UsageLedger()
    call(one, 1, 1)
    assert other.consume() == ModelUsage()
    assert one.consume() == ModelUsage(1, 1)


async def in_tasks(ledger: UsageLedger) -> list[ModelUsage]:
    ready = asyncio.Barrier(5)

    async def one(number: int) -> ModelUsage:
        record = ledger.begin()
        await ready.wait()
        record.report(number, number)
        await ready.wait()
        return ledger.consume()

    return await asyncio.gather(*(one(number) for number in range(5)))


def test_concurrent_tasks_see_their_own() -> None:
    assert asyncio.run(in_tasks(UsageLedger())) == [ModelUsage(number, number) for number in range(5)]


async def inherited(ledger: UsageLedger) -> tuple[ModelUsage, ModelUsage]:
    call(ledger, 3, 4)

    async def child() -> ModelUsage:
        return ledger.consume()

    return await asyncio.create_task(child()), ledger.consume()


def test_a_child_and_its_parent_do_not_both_get_one_calls_usage() -> None:
    assert asyncio.run(inherited(UsageLedger())) == (ModelUsage(3, 4), ModelUsage())


async def handed_over(ledger: UsageLedger) -> ModelUsage:
    async def begin() -> Any:
        return ledger.begin()

    record = await asyncio.create_task(begin())
    record.report(3, 4)
    return ledger.consume()


def test_a_call_that_another_task_began_reports_where_it_goes_on() -> None:
    assert asyncio.run(handed_over(UsageLedger())) == ModelUsage(3, 4)


def test_a_context_keeps_no_ledger_alive_and_forgets_the_dead() -> None:
    ledger = UsageLedger()
    call(ledger, 1, 1)
    gone = weakref.ref(ledger)
    del ledger
    successor = UsageLedger()
    call(successor, 2, 2)
    gc.collect()
    assert gone() is None
    assert successor.consume() == ModelUsage(2, 2)
