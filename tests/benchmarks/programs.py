"""What programs cost: reading, validating arguments, calling tools, recursion, and branches at the same time.

Every figure has a limit, and a yardstick that is measured beside it in the same round: the same work without treelang,
or with another library. On a machine whose speed drifts the ratio to the yardstick says more than the figure. CPU of
the calling thread counts; nothing here waits for anything.

Run it with: python -m tests.benchmarks.programs [ROUNDS]
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jsonschema

from tests.treelang.language.programs import (
    call,
    choice,
    define,
    function,
    literal,
    over,
    program,
    program2,
    tool,
    value,
    variable,
)
from treelang import AST, ExecutionLimits, ToolOutput, ToolProvider
from treelang.tools.validation import compile_tool

ROUNDS = 5

Round: TypeAlias = Callable[[], tuple[float, float]]
"""Measures one figure and its yardstick, in the same unit."""


@dataclass(frozen=True)
class Figure:
    """A figure that programs have to keep to."""

    what: str
    unit: str
    limit: float
    yardstick: str
    measure: Round


ORDER = {
    "type": "object",
    "properties": {
        "customer": {"type": "string", "minLength": 1},
        "express": {"type": "boolean"},
        "currency": {"enum": ["EUR", "USD", "GBP"]},
        "total": {"type": "number", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["street", "city"],
            "additionalProperties": False,
        },
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"article": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
                "required": ["article", "count"],
            },
        },
        "note": {"type": ["string", "null"]},
    },
    "required": ["customer", "currency", "total", "address", "lines"],
    "additionalProperties": False,
}
"""A typical tool: eight properties, some nested."""

ARGUMENTS = {
    "customer": "Ada",
    "express": True,
    "currency": "EUR",
    "total": 12.5,
    "tags": ["new", "gift"],
    "address": {"street": "Main Street 1", "city": "Aix", "zip": "13100"},
    "lines": [{"article": "tea", "count": 2}, {"article": "cup", "count": 1}],
    "note": None,
}

TEN = {f"p{number}": {"type": "integer"} for number in range(10)}
"""Properties of a tool whose work is nothing."""


class Trivial(ToolProvider):
    """Tools in this process that do next to nothing."""

    schemas: dict[str, dict[str, Any]] = {  # noqa: RUF012  # never changed
        "first": {"type": "object", "properties": TEN, "required": list(TEN), "additionalProperties": False},
        "add": {"type": "object", "properties": {"a": {}, "b": {}}},
        "at_most": {"type": "object", "properties": {"a": {}, "b": {}}},
        "wait": {"type": "object", "properties": {"x": {}}},
    }

    async def list_tools(self) -> list[Any]:
        """The tools."""
        return [{"name": name, "input_schema": schema} for name, schema in self.schemas.items()]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        """The first argument, or a sum, or a comparison."""
        match name:
            case "first":
                return ToolOutput(content=arguments["p0"])
            case "add":
                return ToolOutput(content=arguments["a"] + arguments["b"])
            case "at_most":
                return ToolOutput(content=arguments["a"] <= arguments["b"])
        await asyncio.sleep(0)
        return ToolOutput(content=arguments["x"])


PROVIDER = Trivial()


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of this thread."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def run(program: Any, **limits: Any) -> Any:
    """The result of a program that was read."""
    return asyncio.run(AST.eval(program, PROVIDER, ExecutionLimits(**limits)))


def validation() -> tuple[float, float]:
    """Microseconds of judging the arguments of one call, and of jsonschema for the same."""
    compiled = compile_tool({"name": "order", "input_schema": ORDER})
    judge = jsonschema.Draft202012Validator(ORDER)

    def ours() -> None:
        for _ in range(20_000):
            compiled.validate(ARGUMENTS)

    def theirs() -> None:
        for _ in range(500):
            judge.validate(ARGUMENTS)

    return seconds(ours) / 20_000 * 1e6, seconds(theirs) / 500 * 1e6


def mapped(count: int) -> Any:
    """A program that calls the tool of ten properties for so many items."""
    params = [value("x"), *(value(f"constant {number}", number) for number in range(9))]
    return AST.parse(program(over("map", ["x"], function("first", *params), list(range(count)))))


def loop(count: int) -> list[int]:
    """The same in Python."""

    async def calls() -> list[int]:
        constants = {f"p{number + 1}": number for number in range(9)}
        return [(await PROVIDER.call_tool("first", {"p0": x, **constants})).content for x in range(count)]

    return asyncio.run(calls())


def per_call() -> tuple[float, float]:
    """Microseconds of one call in a map beyond what the same call costs in a loop, and that."""
    many = mapped(10_000)
    if run(many) != loop(10_000):
        raise AssertionError("the two sides do not do the same work")
    bare = seconds(lambda: loop(10_000))
    return (seconds(lambda: run(many)) - bare) / 10_000 * 1e6, bare / 10_000 * 1e6


def growth() -> tuple[float, float]:
    """How much more ten times as many items cost, per item, and the same of the loop."""
    few, many = mapped(10_000), mapped(100_000)
    programs = seconds(lambda: run(many)) / seconds(lambda: run(few)) / 10
    return programs, seconds(lambda: loop(100_000)) / seconds(lambda: loop(10_000)) / 10


def recursion(*, tail: bool) -> Round:
    """Seconds of a function that calls itself 100,000 times, and of its calls of tools in a loop."""
    n = variable("n")
    again = call("f", tool("add", a=n, b=literal(-1)))
    body = again if tail else tool("add", a=literal(1), b=again)
    definition = define("f", ["n"], choice(tool("at_most", a=n, b=literal(0)), literal(0), body))
    deep = AST.parse(program2(call("f", literal(100_000)), definitions=[definition]))
    tools = ["at_most", "add"] if tail else ["at_most", "add", "add"]

    async def calls() -> None:
        for number in range(100_000):
            for name in tools:
                await PROVIDER.call_tool(name, {"a": number, "b": -1})

    def measure() -> tuple[float, float]:
        if run(deep) != (0 if tail else 100_000):
            raise AssertionError("the recursion gave something else")
        return seconds(lambda: run(deep)), seconds(lambda: asyncio.run(calls()))

    return measure


def peak_of_branches(count: int) -> float:
    """KiB that a run takes at most, of so many branches that wait, a hundred at the same time."""
    waiting = AST.parse(program(*(function("wait", value("x", 0)) for _ in range(count)), mode="parallel"))
    run(waiting, max_concurrency=100)  # the program is compiled once for all runs
    tracemalloc.start()
    run(waiting, max_concurrency=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1024


def memory() -> tuple[float, float]:
    """KiB of ten thousand branches, and of one thousand."""
    return peak_of_branches(10_000), peak_of_branches(1_000)


def reading(version: str) -> Round:
    """Milliseconds of reading and checking a program of 10,000 nodes, and of decoding its JSON alone."""
    if version == "1.0":
        nodes = [function("add", value("a", number), value("b", 1)) for number in range(3333)]
        text = json.dumps(program(*nodes, mode="parallel"))
    else:
        nodes = [tool("add", a=literal(number), b=literal(1)) for number in range(3333)]
        text = json.dumps(program2(*nodes, mode="parallel"))
    return lambda: (seconds(lambda: AST.parse(text)) * 1e3, seconds(lambda: json.loads(text)) * 1e3)


FIGURES = [
    Figure("arguments of 8 properties", "us", 2, "jsonschema", validation),
    Figure("call of a tool in a map", "us", 12, "the call alone", per_call),
    Figure("10 times as many items", "times", 1.3, "a loop", growth),
    Figure("100,000 calls, last", "s", 2, "their tools alone", recursion(tail=True)),
    Figure("100,000 calls, not last", "s", 2, "their tools alone", recursion(tail=False)),
    Figure("10,000 branches", "KiB", 2_000, "1,000 branches", memory),
    Figure("read 10,000 nodes, 1.0", "ms", 100, "json.loads", reading("1.0")),
    Figure("read 10,000 nodes, 2.0", "ms", 100, "json.loads", reading("2.0")),
]


def main() -> int:
    """Measure every figure; 1 where a median is above its limit."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    exceeded = False
    print(f"medians of {rounds} rounds (lowest to highest), Python {sys.version.split()[0]}")
    for figure in FIGURES:
        figure.measure()  # warms up
        measured = [figure.measure() for _ in range(rounds)]
        values = [ours for ours, _ in measured]
        median = statistics.median(values)
        ratio = statistics.median(ours / theirs for ours, theirs in measured)
        exceeded |= median > figure.limit
        verdict = "ABOVE" if median > figure.limit else "ok"
        print(
            f"{figure.what:26} {median:8.2f} {figure.unit:5} ({min(values):.2f} to {max(values):.2f})"
            f"  allowed {figure.limit:g}  {verdict:5}  {ratio:.3g} of {figure.yardstick}"
        )
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
