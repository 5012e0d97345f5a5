"""Python functions as tools: schemas from hints, calls, failures, cancellation, and the event loop left alone."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import functools
import math
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from treelang.ast import AST
from treelang.errors import InvalidToolArgumentsError, ToolExecutionError, ToolNotFoundError
from treelang.tools.functions import FunctionToolProvider
from treelang.tools.provider import ToolProvider


class Person(BaseModel):
    name: str
    born: datetime.date


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Colour(enum.Enum):
    RED = "red"


def call(provider: ToolProvider, name: str, **arguments: Any) -> Any:
    return asyncio.run(provider.call_tool(name, arguments)).content


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    (definition,) = asyncio.run(FunctionToolProvider(function).list_tools())
    assert definition.input_schema is not None
    return definition.input_schema


def test_name_description_and_order_are_the_functions() -> None:
    def divide(
        dividend: float, divisor: Annotated[float, Field(description="Not zero.", gt=0)], *, digits: int = 2
    ) -> float:
        """Divide.

        And round.
        """
        return round(dividend / divisor, digits)

    (definition,) = asyncio.run(FunctionToolProvider(divide).list_tools())
    assert definition.name == "divide"
    assert definition.description == "Divide.\n\nAnd round."
    assert list(definition.properties) == ["dividend", "divisor", "digits"]
    assert definition.input_schema == {
        "type": "object",
        "properties": {
            "dividend": {"type": "number"},
            "divisor": {"type": "number", "description": "Not zero.", "exclusiveMinimum": 0},
            "digits": {"type": "integer", "default": 2},
        },
        "required": ["dividend", "divisor"],
        "additionalProperties": False,
    }


def test_functions_are_given_one_by_one_in_a_list_or_by_name() -> None:
    def one() -> int:
        return 1

    async def two() -> int:
        return 2

    provider = FunctionToolProvider([one], two, {"three": lambda: 3})
    provider.add(functools.partial(pow, 2), name="power", description="Of two.")

    @provider.add
    def four() -> int:
        return 4

    definitions = asyncio.run(provider.list_tools())
    assert [tool.name for tool in definitions] == ["one", "two", "three", "power", "four"]
    for definition in definitions:
        assert asyncio.run(provider.get_tool_definition(definition.name)) == definition
    assert [call(provider, name) for name in ("one", "two", "three", "four")] == [1, 2, 3, 4]
    assert call(provider, "power", exp=5) == 32
    assert definitions[3].description == "Of two."


def test_parameters_may_have_any_name_and_no_hint() -> None:
    def odd(schema, copy, _private, model_config=None):  # type: ignore[no-untyped-def] # that is what is tested
        return [schema, copy, _private, model_config]

    assert schema_of(odd) == {
        "type": "object",
        "properties": {"schema": {}, "copy": {}, "_private": {}, "model_config": {"default": None}},
        "required": ["schema", "copy", "_private"],
        "additionalProperties": False,
    }
    assert call(FunctionToolProvider(odd), "odd", schema=1, copy=[2], _private={"a": 3}) == [1, [2], {"a": 3}, None]


def test_further_arguments_are_allowed_where_the_function_takes_them() -> None:
    def total(**numbers: int) -> int:
        return sum(numbers.values())

    assert schema_of(total)["additionalProperties"] is True
    assert call(FunctionToolProvider(total), "total", a=1, b=2) == 3


def test_methods_and_callable_objects_are_functions_too() -> None:
    class Counter:
        """Count."""

        def __init__(self) -> None:
            self.value = 0

        def step(self, by: int) -> int:
            self.value += by
            return self.value

        async def __call__(self) -> int:
            return self.value

    counter = Counter()
    provider = FunctionToolProvider(counter.step, {"value": counter})
    assert call(provider, "step", by=2) == 2
    assert call(provider, "value") == 2
    assert asyncio.run(provider.get_tool_definition("value")).description == "Count."


def test_arguments_arrive_in_the_hinted_types_and_results_leave_as_json() -> None:
    seen: list[Any] = []

    def take(
        person: Person, point: Point, colour: Colour, when: datetime.datetime | None, pair: tuple[int, int], count: int
    ) -> list[Any]:
        seen.extend([person, point, colour, when, pair, count])
        return [person, point, colour, when, pair, {1}]

    person = {"name": "Ada", "born": "1815-12-10"}
    arguments = {"person": person, "point": {"x": 1}, "colour": "red", "when": None, "pair": [1, 2], "count": 3.0}
    assert call(FunctionToolProvider(take), "take", **arguments) == [person, {"x": 1, "y": 0}, "red", None, [1, 2], [1]]
    assert seen == [Person(name="Ada", born=datetime.date(1815, 12, 10)), Point(1, 0), Colour.RED, None, (1, 2), 3]
    assert type(seen[-1]) is int


def test_a_default_is_said_and_not_injected() -> None:
    seen: list[Any] = []

    def take(x: int = 3, born: datetime.date = datetime.date(2000, 1, 1), other: Any = math.nan) -> None:
        seen.append((x, born))

    properties = schema_of(take)["properties"]
    assert properties["x"] == {"type": "integer", "default": 3}
    assert properties["born"] == {"type": "string", "format": "date", "default": "2000-01-01"}
    assert properties["other"] == {}
    arguments: dict[str, Any] = {}
    asyncio.run(FunctionToolProvider(take).call_tool("take", arguments))
    assert arguments == {}
    assert seen == [(3, datetime.date(2000, 1, 1))]


def even(value: int) -> int:
    if value % 2:
        raise ValueError(f"{value} is odd")
    return value


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({}, "at '<root>' the constraint 'required'"),
        ({"kind": "a", "number": "90210"}, "at 'number' the constraint 'type'"),
        ({"kind": "SECRET", "number": 2}, "at 'kind' the constraint 'enum'"),
        ({"kind": "a", "number": 2, "SECRET": 1}, "at '<root>' the constraint 'additionalProperties'"),
        ({"kind": "a", "number": 90211}, "at 'number' the constraint 'value_error'"),
    ],
)
def test_arguments_that_do_not_fit_reach_no_function(arguments: dict[str, Any], refusal: str) -> None:
    calls: list[Any] = []

    def choose(kind: Literal["a", "b"], number: Annotated[int, AfterValidator(even)]) -> None:
        calls.append(kind)

    with pytest.raises(InvalidToolArgumentsError, match=refusal) as caught:
        call(FunctionToolProvider(choose), "choose", **arguments)
    assert calls == []
    assert not any(word in str(caught.value) for word in ("SECRET", "9021"))
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_an_unknown_name_is_not_found() -> None:
    provider = FunctionToolProvider()
    for use in (provider.get_tool_definition("nobody"), provider.call_tool("nobody", {})):
        with pytest.raises(ToolNotFoundError, match="there is no tool 'nobody'"):
            asyncio.run(use)


def positional_only(x: int, /) -> None: ...
def variadic(*x: int) -> None: ...
def field_as_default(x: int = Field(3, ge=0)) -> None: ...
def of_no_json(x: threading.Lock) -> None: ...
def unresolved(x: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821 - that is what is tested
def of_functions(x: Callable[[], int]) -> None: ...


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (positional_only, "'positional_only' cannot be a tool: .*'x' cannot be given by name"),
        (variadic, "'variadic' cannot be a tool: .*'x' cannot be given by name"),
        (field_as_default, r"write the Field of 'x' in its hint, Annotated\[..., Field\(...\)\]"),
        (of_no_json, "'of_no_json' cannot be a tool: "),
        (of_functions, "'of_functions' cannot be a tool: "),
        (unresolved, "'unresolved' cannot be a tool: name 'Nowhere' is not defined"),
        (lambda: 1, "the function <lambda> has no name of its own; add it with name='...'"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_a_reason(function: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason) as caught:
        FunctionToolProvider(function)
    assert "\n" not in str(caught.value)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="there is a tool 'even' already"):
        FunctionToolProvider(even, even)


def raising(error: BaseException) -> list[Callable[..., Any]]:
    def plain(secret: str) -> None:
        raise error

    async def coroutine(secret: str) -> None:
        raise error

    return [plain, coroutine]


@pytest.mark.parametrize("kind", [0, 1], ids=["plain", "async"])
@pytest.mark.parametrize(
    "error", [ValueError("SECRET"), KeyError("SECRET"), TimeoutError("SECRET"), ToolNotFoundError("SECRET"), OSError(5)]
)
def test_what_a_function_raises_is_the_cause_and_is_not_quoted(error: Exception, kind: int) -> None:
    function = raising(error)[kind]
    with pytest.raises(ToolExecutionError) as caught:
        call(FunctionToolProvider({"tool": function}), "tool", secret="SECRET")  # noqa: S106 - to be looked for
    assert str(caught.value) == f"the tool 'tool' failed with {type(error).__name__}"
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("kind", [0, 1], ids=["plain", "async"])
def test_a_function_may_word_its_failure_itself(kind: int) -> None:
    error = ToolExecutionError("the shop is closed")
    with pytest.raises(ToolExecutionError) as caught:
        call(FunctionToolProvider({"tool": raising(error)[kind]}), "tool", secret="")
    assert caught.value is error


@pytest.mark.parametrize("kind", [0, 1], ids=["plain", "async"])
def test_a_function_that_cancels_itself_has_failed(kind: int) -> None:
    error = asyncio.CancelledError()
    with pytest.raises(ToolExecutionError, match="the tool 'tool' cancelled itself") as caught:
        call(FunctionToolProvider({"tool": raising(error)[kind]}), "tool", secret="")
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("kind", [0, 1], ids=["plain", "async"])
def test_stop_iteration_is_a_failure_like_any_other(kind: int) -> None:
    with pytest.raises(ToolExecutionError, match="the tool 'tool' failed with"):
        call(FunctionToolProvider({"tool": raising(StopIteration())[kind]}), "tool", secret="")


@pytest.mark.parametrize("kind", [0, 1], ids=["plain", "async"])
def test_a_wish_to_end_the_program_passes(kind: int) -> None:
    with pytest.raises(SystemExit):
        call(FunctionToolProvider({"tool": raising(SystemExit(3))[kind]}), "tool", secret="")


HELD_BY_NO_JSON = {
    "NaN": math.nan,
    "infinity": [math.inf],
    "an object": object(),
    "an object inside": {"a": {"b": object()}},
    "a lone surrogate": "\ud800",
    "an integer without end": 10**5000,
    "bytes that are no text": b"\xff",
    "a function": lambda: 1,
}


@pytest.mark.parametrize("result", HELD_BY_NO_JSON.values(), ids=HELD_BY_NO_JSON)
def test_a_result_that_json_cannot_hold_is_a_failure(result: Any) -> None:
    with pytest.raises(ToolExecutionError, match=r"the tool 'tool' gave back a \w+ that JSON cannot hold"):
        call(FunctionToolProvider({"tool": lambda: result}), "tool")


def test_a_result_within_itself_is_a_failure() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ToolExecutionError, match="the tool 'tool' gave back a list that JSON cannot hold"):
        call(FunctionToolProvider({"tool": lambda: endless}), "tool")


def test_a_plain_function_leaves_the_event_loop_free_and_keeps_the_context() -> None:
    context: ContextVar[str] = ContextVar("context")
    let_go = threading.Event()

    def wait() -> list[Any]:
        return [let_go.wait(30), context.get(), threading.current_thread() is threading.main_thread()]

    async def use() -> Any:
        context.set("the caller's")
        waiting = asyncio.create_task(FunctionToolProvider(wait).call_tool("wait", {}))
        await asyncio.sleep(0)
        let_go.set()  # nobody would come here if the loop were held up
        return (await waiting).content

    assert asyncio.run(use()) == [True, "the caller's", False]


def test_calls_at_once_are_independent() -> None:
    async def use() -> list[Any]:
        both = asyncio.Barrier(3)

        async def meet(name: str) -> str:
            await both.wait()
            return name

        provider = FunctionToolProvider(meet)
        outputs = await asyncio.gather(*(provider.call_tool("meet", {"name": name}) for name in "abc"))
        return [output.content for output in outputs]

    assert asyncio.run(use()) == ["a", "b", "c"]


def test_cancellation_passes_unchanged_through_an_async_function() -> None:
    left: list[str] = []

    async def use() -> None:
        arrived = asyncio.Event()

        async def hang() -> None:
            try:
                arrived.set()
                await asyncio.Event().wait()
            finally:
                left.append("hang")

        task = asyncio.create_task(FunctionToolProvider(hang).call_tool("hang", {}))
        await arrived.wait()
        task.cancel("by the test")
        with pytest.raises(asyncio.CancelledError, match="by the test"):
            await task
        assert task.cancelled()

    asyncio.run(use())
    assert left == ["hang"]


def test_cancelling_a_plain_function_does_not_wait_for_it() -> None:
    let_go, arrived = threading.Event(), threading.Event()

    def hang() -> None:
        arrived.set()
        let_go.wait(30)

    async def use() -> None:
        task = asyncio.create_task(FunctionToolProvider(hang).call_tool("hang", {}))
        await asyncio.to_thread(arrived.wait, 30)
        task.cancel("by the test")
        with pytest.raises(asyncio.CancelledError, match="by the test"):
            await task
        assert not let_go.is_set()
        let_go.set()

    asyncio.run(use())


def test_the_callers_deadline_is_a_plain_timeout() -> None:
    async def use() -> None:
        async def hang() -> None:
            await asyncio.Event().wait()

        async with asyncio.timeout(0.01):
            await FunctionToolProvider(hang).call_tool("hang", {})

    with pytest.raises(TimeoutError) as caught:
        asyncio.run(use())
    assert type(caught.value) is TimeoutError


def test_a_program_calls_functions() -> None:
    def double(number: int) -> int:
        return 2 * number

    program = {
        "type": "program",
        "mode": "single",
        "body": [
            {
                "type": "map",
                "function": {
                    "type": "lambda",
                    "params": ["number"],
                    "body": {
                        "type": "function",
                        "name": "double",
                        "params": [{"type": "value", "name": "number", "value": None}],
                    },
                },
                "iterable": {"type": "value", "name": "numbers", "value": [1, 2, 3]},
            }
        ],
    }
    assert asyncio.run(AST.eval(AST.parse(program), FunctionToolProvider(double))) == [2, 4, 6]
