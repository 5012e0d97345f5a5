"""The deadline and cancellation, in each phase of an evaluation: what is raised, and that nothing goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.treelang.arborist.models import WIRES, Tools, call_program, model, run, stalled, value_program
from treelang import (
    Arborist,
    ArboristConfig,
    ExecutionLimitError,
    ExecutionLimits,
    FunctionToolProvider,
    ModelTimeoutError,
    ScriptedTransport,
    ToolDefinition,
    ToolProvider,
)

SOON = 0.05
"""Seconds of a deadline that is to strike: whatever it interrupts waits for ever."""


@dataclass
class Waiting:
    """A place that is entered, never left by itself, and remembers how it was left."""

    entered: asyncio.Event = field(default_factory=asyncio.Event)
    left_by: list[type[BaseException]] = field(default_factory=list)

    async def here(self) -> Any:
        self.entered.set()
        try:
            await asyncio.get_running_loop().create_future()
        except BaseException as error:
            self.left_by.append(type(error))
            raise


class WaitingSelector:
    def __init__(self, waiting: Waiting) -> None:
        self.waiting = waiting

    async def select(self, provider: ToolProvider, *, query: str) -> list[ToolDefinition]:
        return await self.waiting.here()  # type: ignore[no-any-return]  # it never returns


class WaitingTransport(ScriptedTransport):
    def __init__(self, waiting: Waiting) -> None:
        super().__init__([])
        self.waiting = waiting

    async def complete(self, request: Any) -> str:
        return await self.waiting.here()  # type: ignore[no-any-return]  # it never returns


class WaitingMemory:
    def __init__(self, waiting: Waiting) -> None:
        self.waiting = waiting

    async def get(self) -> list[Any]:
        return []

    async def add(self, messages: Any) -> None:
        await self.waiting.here()

    async def clear(self) -> None: ...


def waiting_tool(waiting: Waiting) -> FunctionToolProvider:
    async def wait() -> Any:
        """Waits."""
        return await waiting.here()

    return FunctionToolProvider(wait)


def _selecting(waiting: Waiting, config: ArboristConfig) -> Arborist:
    return Arborist("m", Tools(), WaitingSelector(waiting), config=config, transport=ScriptedTransport([]))


def _asking(waiting: Waiting, config: ArboristConfig) -> Arborist:
    return Arborist("m", Tools(), config=config, transport=WaitingTransport(waiting))


def _running(waiting: Waiting, config: ArboristConfig) -> Arborist:
    transport = ScriptedTransport([call_program("wait")])
    return Arborist("m", waiting_tool(waiting), config=config, transport=transport)


def _remembering(waiting: Waiting, config: ArboristConfig) -> Arborist:
    transport = ScriptedTransport([value_program(1)])
    return Arborist("m", Tools(), memory=WaitingMemory(waiting), config=config, transport=transport)


PHASES: dict[str, Callable[[Waiting, ArboristConfig], Arborist]] = {
    "selecting tools": _selecting,
    "asking the model": _asking,
    "running a tool": _running,
    "remembering": _remembering,
}


@contextlib.asynccontextmanager
async def nothing_left_behind() -> AsyncIterator[None]:
    """Require that no task is left of what is done in the block."""
    before = asyncio.all_tasks()
    yield
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("phase", PHASES)
def test_the_deadline_is_a_plain_timeout_error_in_every_phase(phase: str) -> None:
    async def evaluation() -> list[type[BaseException]]:
        waiting = Waiting()
        arborist = PHASES[phase](waiting, ArboristConfig("m", timeout=SOON))
        async with nothing_left_behind():
            with pytest.raises(TimeoutError) as struck:
                await arborist.eval("question")
        assert type(struck.value) is TimeoutError
        assert str(struck.value) == "the evaluation took longer than the configured 0.05 seconds"
        return waiting.left_by

    assert run(evaluation()) == [asyncio.CancelledError]


@pytest.mark.parametrize("phase", PHASES)
def test_cancellation_passes_unchanged_in_every_phase(phase: str) -> None:
    async def evaluation() -> list[type[BaseException]]:
        waiting = Waiting()
        arborist = PHASES[phase](waiting, ArboristConfig("m", timeout=1000))
        async with nothing_left_behind():
            task = asyncio.create_task(arborist.eval("question"))
            await waiting.entered.wait()
            task.cancel("enough")
            with pytest.raises(asyncio.CancelledError, match="enough"):
                await task
        assert task.cancelled()
        return waiting.left_by

    assert run(evaluation()) == [asyncio.CancelledError]


@pytest.mark.parametrize("phase", PHASES)
def test_the_callers_own_deadline_stays_the_callers(phase: str) -> None:
    async def evaluation() -> None:
        arborist = PHASES[phase](Waiting(), ArboristConfig("m", timeout=1000))
        with pytest.raises(TimeoutError) as struck:
            async with asyncio.timeout(SOON) as deadline:
                await arborist.eval("question")
        assert deadline.expired()
        assert type(struck.value) is TimeoutError

    run(evaluation())


def test_a_deadline_that_a_transport_makes_into_another_error_is_still_the_deadline() -> None:
    class Translating(WaitingTransport):
        async def complete(self, request: Any) -> str:
            try:
                return await super().complete(request)
            except asyncio.CancelledError:
                raise ConnectionError("lost") from None

    arborist = Arborist("m", Tools(), config=ArboristConfig("m", timeout=SOON), transport=Translating(Waiting()))
    with pytest.raises(TimeoutError) as struck:
        run(arborist.eval("question"))

    assert type(struck.value) is TimeoutError
    assert isinstance(struck.value.__cause__, ConnectionError)


def test_limits_of_the_execution_are_not_the_deadline() -> None:
    arborist = Arborist(
        "m",
        waiting_tool(Waiting()),
        config=ArboristConfig("m", timeout=1000),
        transport=ScriptedTransport([call_program("wait")]),
        execution_limits=ExecutionLimits(timeout_seconds=SOON),
    )
    with pytest.raises(ExecutionLimitError) as crossed:
        run(arborist.eval("question"))

    assert crossed.value.resource == "wall_clock_seconds"


def test_a_failing_branch_awaits_its_siblings_before_the_evaluation_ends() -> None:
    async def evaluation() -> list[type[BaseException]]:
        waiting = Waiting()
        tools = waiting_tool(waiting)

        @tools.add
        async def fail() -> None:
            """Fails, once the other one is there."""
            await waiting.entered.wait()
            raise LookupError

        calls = [{"type": "function", "name": name, "params": []} for name in ("wait", "fail")]
        program = json.dumps({"type": "program", "mode": "parallel", "body": calls})
        async with nothing_left_behind():
            with pytest.raises(Exception, match="'fail' failed with LookupError"):
                await Arborist("m", tools, transport=ScriptedTransport([program])).eval("question")
        return waiting.left_by

    assert run(evaluation()) == [asyncio.CancelledError]


# --- on the wire ---


@pytest.mark.parametrize("wire", WIRES)
def test_the_deadline_releases_the_connection_and_sends_nothing_more(wire: str) -> None:
    async def evaluation() -> int:
        async with model(wire) as asked:
            asked.plays(stalled())
            config = ArboristConfig(asked.name, timeout=SOON * 4)
            with pytest.raises(TimeoutError) as struck:
                await Arborist(asked.name, Tools(), config=config, transport=asked.transport).eval("question")
            assert type(struck.value) is TimeoutError
            await asked.provider.until(lambda: all(one.state != "busy" for one in asked.provider.connections))
            return len(asked.requests)

    assert run(evaluation()) <= 1


@pytest.mark.parametrize("wire", WIRES)
def test_cancelling_an_evaluation_releases_the_connection_and_leaves_the_arborist_usable(wire: str) -> None:
    async def evaluation() -> Any:
        async with model(wire) as asked:
            asked.plays(stalled())
            arborist = Arborist(asked.name, Tools(), transport=asked.transport)
            task = asyncio.create_task(arborist.eval("question"))
            await asked.provider.request_received()
            task.cancel()
            await asyncio.wait([task])
            await asked.provider.released(0)
            asked.answers(value_program(3))
            return task.cancelled(), (await arborist.eval("question")).content, len(asked.requests)

    assert run(evaluation()) == (True, 3, 2)


@pytest.mark.parametrize("wire", WIRES)
def test_a_timeout_of_the_sdk_is_a_model_timeout_error_and_not_the_deadline(wire: str) -> None:
    async def evaluation() -> None:
        async with model(wire, client_timeout=SOON) as asked:
            asked.plays(stalled())
            config = ArboristConfig(asked.name, timeout=1000)
            with pytest.raises(ModelTimeoutError):
                await Arborist(asked.name, Tools(), config=config, transport=asked.transport).eval("question")

    run(evaluation())
