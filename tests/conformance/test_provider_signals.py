"""Waiting across threads and event loops: nothing is missed, nothing is left behind."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.conformance.loopback import run
from treelang_conformance.provider.script import Gate
from treelang_conformance.provider.signals import Changes


def test_a_predicate_that_holds_already_is_not_waited_for() -> None:
    run(Changes().until(lambda: True))


def test_a_change_between_looking_and_waiting_is_not_missed() -> None:
    changes, looks = Changes(), [False, True]

    def look() -> bool:
        changes.notify()
        return looks.pop(0)

    run(changes.until(look))
    assert looks == []


def test_waiters_in_several_loops_are_all_woken() -> None:
    changes, done = Changes(), threading.Event()
    waiting = threading.Barrier(4)

    def look() -> bool:
        return done.is_set()

    async def wait() -> None:
        task = asyncio.create_task(changes.until(look))
        await asyncio.sleep(0)
        waiting.wait()
        await task

    threads = [threading.Thread(target=run, args=(wait(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    waiting.wait()
    done.set()
    changes.notify()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_a_cancelled_waiter_is_forgotten() -> None:
    changes = Changes()

    async def give_up() -> None:
        task = asyncio.create_task(changes.until(lambda: False))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(give_up())
    assert changes._waiters == []
    changes.notify()


def test_a_waiter_whose_loop_is_gone_does_not_disturb_the_others(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()

    async def abandon() -> asyncio.Task[None]:
        task = asyncio.create_task(gate.reached())
        await asyncio.sleep(0)
        return task

    assert run(abandon()).cancelled()
    gate.open()
    run(gate.pass_through())
    run(gate.reached())
    assert caplog.records == []


def test_a_gate_says_where_it_stands() -> None:
    gate = Gate("second-chunk")
    assert repr(gate) == "Gate('second-chunk', ahead)"

    async def stand() -> str:
        task = asyncio.create_task(gate.pass_through())
        await gate.reached()
        seen = repr(gate)
        gate.open()
        gate.open()
        await task
        return seen

    assert run(stand()) == "Gate('second-chunk', reached)"
    assert repr(gate) == "Gate('second-chunk', open)"
