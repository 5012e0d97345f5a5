"""Bounds in time: a hang is told from a busy machine by what the process did meanwhile."""

from __future__ import annotations

import pytest

from treelang_conformance import patience
from treelang_conformance.patience import Patience


class Clocks:
    """Both clocks of the process, turned by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.used = 5.0

    def monotonic(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.used

    def turn(self, seconds: float, *, busy: bool) -> None:
        self.now += seconds
        self.used += seconds / 2 if busy else 0


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(patience, "time", clocks)
    return clocks


def looks(bound: Patience, clocks: Clocks, number: int, *, busy: bool) -> list[bool]:
    """What the bound says at so many looks, a tenth of a second apart."""
    said = []
    for _ in range(number):
        clocks.turn(0.1, busy=busy)
        said.append(bound.is_over())
    return said


def test_an_idle_process_is_at_its_bound_when_the_time_is_over(clocks: Clocks) -> None:
    assert looks(Patience(0.95), clocks, 10, busy=False) == [False] * 9 + [True]


def test_working_time_does_not_count(clocks: Clocks) -> None:
    bound = Patience(0.95)
    bound.is_over()
    assert looks(bound, clocks, 20, busy=True) == [False] * 20
    assert looks(bound, clocks, 10, busy=False) == [False] * 9 + [True]


def test_even_work_comes_to_an_end(clocks: Clocks) -> None:
    bound = Patience(0.94)
    bound.is_over()
    assert looks(bound, clocks, 38, busy=True) == [False] * 37 + [True]


def test_a_process_that_waits_for_a_core_is_not_taken_for_idle(clocks: Clocks) -> None:
    bound = Patience(0.95)
    said = []
    for _ in range(10):
        clocks.turn(0.8, busy=False)
        said.append(bound.is_over())
    assert said == [False] * 9 + [True]
