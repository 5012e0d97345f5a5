"""Models for tests: an adapter on the loopback provider, which plays what a model would answer; and tools."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.adapters import ADAPTERS, CLIENT_TIMEOUT
from treelang import FunctionToolProvider, ToolOutput, UsageAwareTransport
from treelang_conformance.neutral import Answer, Failure, ReadRequest, Usage
from treelang_conformance.provider.script import Reply, Script, Stall
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.base import Wire
from treelang_conformance.wires.discovery import find_wire

T = TypeVar("T")

WIRES = list(ADAPTERS)

_BOUND = 20.0  # seconds until a hanging test fails; never waited for in a passing one


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own, with a bound."""

    async def bounded() -> T:
        async with asyncio.timeout(_BOUND):
            return await coroutine

    return asyncio.run(bounded())


@dataclass(frozen=True, slots=True)
class Model:
    """A model behind a real socket."""

    name: str
    wire: Wire
    provider: Provider
    transport: UsageAwareTransport

    def answers(self, *texts: str, usage: Usage | None = Usage(11, 7)) -> None:  # noqa: B008  # frozen
        """Queue one answer a text."""
        self.plays(*(self.wire.completion(Answer.of(text, usage=usage)) for text in texts))

    def fails(self, failure: Failure) -> None:
        """Queue a failure."""
        self.plays(self.wire.error(failure))

    def rejects_strict_output(self) -> None:
        """Queue the provider's explicit rejection of strict output."""
        self.fails(next(iter(self.wire.rejections().values())))

    def plays(self, *scripts: Script) -> None:
        """Queue scripts of the provider."""
        self.provider.reply(*scripts)

    @property
    def requests(self) -> list[ReadRequest]:
        """What was received so far."""
        return [self.wire.read(request) for request in self.provider.requests]


@contextlib.asynccontextmanager
async def model(wire: str, name: str | None = None, *, client_timeout: float = CLIENT_TIMEOUT) -> AsyncIterator[Model]:
    """A model that answers nothing yet.

    Args:
        wire: The name of the protocol.
        name: The model's name; by default that of one which takes strict output and a temperature.
        client_timeout: Seconds that the SDK waits for connecting and for each read.
    """
    adapter = ADAPTERS[wire]
    with Provider() as provider:
        async with adapter.connected(provider.url, client_timeout=client_timeout) as transport:
            yield Model(name or adapter.model, find_wire(wire), provider, transport)


def stalled() -> Reply:
    """A response that is announced and never comes."""
    return Reply(headers={"content-type": "application/json"}, body=(Stall(),), framing="chunked")


def value_program(value: Any) -> str:
    """A program of format 1.0 that gives a value."""
    return json.dumps(
        {"type": "program", "mode": "single", "body": [{"type": "value", "name": "answer", "value": value}]}
    )


def call_program(tool: str, *values: Any) -> str:
    """A program of format 1.0 that calls a tool."""
    params = [{"type": "value", "name": f"p{index}", "value": value} for index, value in enumerate(values)]
    return json.dumps(
        {"type": "program", "mode": "single", "body": [{"type": "function", "name": tool, "params": params}]}
    )


async def get_capital_city(country: str) -> str:
    """The capital of a country."""
    return {"France": "Paris"}[country]


async def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Paris": "Sunny, 25°C"}[city]


async def get_gdp(country: str) -> float:
    """The gross domestic product of a country."""
    return {"Brazil": 1839.76}[country]


async def greater_than(value: float, threshold: float) -> bool:
    """Whether a value is above a threshold."""
    return value > threshold


async def get_all_cities_in_country(country: str) -> list[str]:
    """The cities of a country."""
    return {"Australia": ["Sydney", "Melbourne", "Brisbane"]}[country]


async def get_city_population(city: str) -> int:
    """How many people live in a city."""
    return {"Sydney": 5312000, "Melbourne": 5078000, "Brisbane": 2514000}[city]


async def add(x: float, y: float) -> float:
    """The sum of two numbers."""
    return x + y


class Tools(FunctionToolProvider):
    """The tools that the published programs need, or other functions, and what was called."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        super().__init__(
            functions
            or (
                get_capital_city,
                get_weather,
                get_gdp,
                greater_than,
                get_all_cities_in_country,
                get_city_population,
                add,
            )
        )
        self.called: list[str] = []

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        self.called.append(name)
        return await super().call_tool(name, arguments)
