"""What passes between a run and the tool provider, both ways."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from tests.treelang.language.programs import (
    call,
    choice,
    define,
    function,
    lambda_,
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
from treelang.ast import AST
from treelang.errors import (
    ASTTypeError,
    ASTValidationError,
    InvalidToolArgumentsError,
    ProviderResponseError,
    ToolExecutionError,
    ToolNotFoundError,
)
from treelang.runtime.limits import ExecutionLimits
from treelang.tools.provider import ToolOutput


class Described(Functions):
    """Functions with schemas of their own."""

    def __init__(self, schemas: dict[str, dict[str, Any]], **functions: Any) -> None:
        super().__init__(**functions)
        self.schemas = schemas

    def definition(self, name: str) -> dict[str, Any]:
        schema = self.schemas[name]
        return {"name": name, "properties": schema.get("properties", {}), "input_schema": schema}


COUNT = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "unit": {"type": "string", "default": "apples"}},
    "required": ["number"],
    "additionalProperties": False,
}


def counting() -> Described:
    return Described({"count": COUNT}, count=lambda number, unit="pears": f"{number} {unit}")


def test_positional_params_are_paired_with_the_properties_and_optional_ones_may_be_left_out() -> None:
    provider = counting()
    assert run(program(function("count", value("a", 1), value("b", "nuts"))), provider) == "1 nuts"
    assert run(program(function("functions.count", value("a", 1))), provider) == "1 pears", "no default is injected"
    assert provider.calls == [("count", {"number": 1, "unit": "nuts"}), ("count", {"number": 1})]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_without_a_schema_the_number_of_params_is_that_of_the_properties(count: int) -> None:
    provider = Functions(pair=lambda a, b: [a, b])
    nested = program(value("x", 1), function("pair", *(value("x", 1) for _ in range(count))))
    with pytest.raises(ASTValidationError, match=f"takes 2 parameters, .'a', 'b'., and not {count}") as caught:
        run(nested, provider)
    assert caught.value.pointer == "/body/1"
    assert provider.calls == []


def test_with_a_schema_there_may_not_be_more_params_than_properties() -> None:
    with pytest.raises(ASTValidationError, match="takes at most 2 parameters"):
        run(program(function("count", *(value("x", 1) for _ in range(3)))), counting())


@pytest.mark.parametrize(
    "raw",
    [
        program(function("count", value("number", "a secret word"))),
        program2(tool("count", number=literal("a secret word"))),
        program2(tool("count", unit=literal("a secret word"))),
        program2(tool("count", number=literal(1), other=literal("a secret word"))),
    ],
)
def test_invalid_arguments_reach_no_provider_and_use_no_budget(raw: dict[str, Any]) -> None:
    provider = counting()
    with pytest.raises(InvalidToolArgumentsError, match="count") as caught:
        run(raw, provider, max_tool_calls=1)
    assert caught.value.pointer == "/body/0"
    assert "secret" not in str(caught.value)
    assert provider.calls == []

    both = program2(choice(tool("count", number=literal(1)), tool("count", number=literal([])), literal(1)))
    with pytest.raises(InvalidToolArgumentsError):
        run(both, counting(), max_tool_calls=1)


def test_arguments_are_checked_as_they_are_when_they_are_there() -> None:
    provider = counting()
    with pytest.raises(InvalidToolArgumentsError) as caught:
        run(program(over("map", ["n"], function("count", value("n")), [1, "two", 3])), provider)
    assert caught.value.pointer == "/body/0/function/body"
    assert provider.calls == [("count", {"number": 1})]


def test_a_tool_is_looked_up_once_in_a_run_and_only_if_it_is_called() -> None:
    provider = Functions(same=lambda x: x)
    same = tool("same", x=literal(1))
    raw = program2(same, choice(same, same, tool("missing")), memo("k", same))
    assert run(raw, provider) == [1, 1, 1]
    assert provider.lookups == ["same"]


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        (program(choice(value("c", 1), function("missing", function("same", value("x", 1))))), "/body/0/true_branch"),
        (program2(tool("missing", x=tool("same", x=literal(1)))), "/body/0"),
    ],
)
def test_a_tool_that_is_not_there_is_named_before_anything_is_called(raw: dict[str, Any], pointer: str) -> None:
    provider = Functions(same=lambda x: x)
    with pytest.raises(ToolNotFoundError, match="missing") as caught:
        run(raw, provider)
    assert caught.value.pointer == pointer
    assert provider.calls == []


def test_a_look_up_that_fails_is_the_providers_failure_with_its_place() -> None:
    class Careless(Functions):
        async def get_tool_definition(self, name: str) -> Any:
            return {}[name]

    words = r"^the look-up of the tool 'same' failed with KeyError \(at /body/1\)$"
    with pytest.raises(ToolExecutionError, match=words) as caught:
        run(program(value("x", 1), function("same", value("x", 1))), Careless())
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_definition_that_is_not_valid_names_the_tool() -> None:
    class Careless(Functions):
        def definition(self, name: str) -> dict[str, Any]:
            return {"name": name, "input_schema": {"type": "object", "properties": 7}}

    provider = Careless(same=lambda x: x)
    with pytest.raises(ProviderResponseError, match="'same'"):
        run(program(function("same", value("x", 1))), provider)
    assert provider.calls == []


def test_what_a_tool_raises_is_the_cause_and_its_words_stay_there() -> None:
    def fail(x: int) -> None:
        raise LookupError(f"secret {x}")

    with pytest.raises(ToolExecutionError, match=r"^the tool 'fail' failed with LookupError \(at /body/0\)$") as caught:
        run(program(function("fail", value("x", 1))), Functions(fail=fail))
    assert str(caught.value.__cause__) == "secret 1"


def test_an_error_of_the_hierarchy_passes_with_its_place() -> None:
    def refuse() -> None:
        raise ToolExecutionError("the provider's own words")

    with pytest.raises(ToolExecutionError, match=r"^the provider's own words \(at /body/1\)$"):
        run(program(value("x", 1), function("refuse")), Functions(refuse=refuse))


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ({1, 2}, "of the type set"),
        ({"a": [b"x"]}, "at /a/0: of the type bytes"),
        ({1: 2}, "a key that is no Unicode text"),
        (float("nan"), "not finite"),
        (Ellipsis, "of the type ellipsis"),
    ],
    ids=str,
)
def test_an_output_that_is_no_json_is_the_tools_failure(output: Any, words: str) -> None:
    with pytest.raises(ToolExecutionError, match="'give' gave back what is no JSON value") as caught:
        run(program(function("give")), Functions(give=lambda: output))
    assert words in str(caught.value)
    assert caught.value.pointer == "/body/0"


def test_an_output_within_itself_is_the_tools_failure() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ToolExecutionError, match="within itself"):
        run(program(function("give")), Functions(give=lambda: endless))


def test_a_provider_that_gives_no_output_has_failed() -> None:
    class Broken(Functions):
        async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
            return None

    with pytest.raises(ToolExecutionError, match="provider of the tool 'give' gave back NoneType and no ToolOutput"):
        run(program(function("give")), Broken(give=lambda: 1))


def test_tuples_and_subclasses_of_jsons_types_become_json() -> None:
    class Text(str):
        pass

    result = run(program(function("give")), Functions(give=lambda: {"a": (Text("x"), True)}))
    assert result == {"a": ["x", True]}
    assert type(result["a"][0]) is str


def spoil(items: list[Any]) -> int:
    items.append("spoilt")
    items[0]["a"] = "spoilt"
    return len(items)


@pytest.mark.parametrize(
    "raw",
    [
        program(function("spoil", value("items", [{"a": 1}])), value("items", [{"a": 1}])),
        program(over("map", ["items"], function("spoil", value("items")), [[{"a": 1}], [{"a": 1}]])),
        program2(memo("k", tool("make")), tool("spoil", items=memo("k", tool("make"))), memo("k", tool("make"))),
        program2(
            call("f", tool("make")),
            definitions=[define("f", ["x"], tool("both", a=tool("spoil", items=variable("x")), b=variable("x")))],
        ),
    ],
)
def test_a_tool_that_changes_its_arguments_changes_nothing_else(raw: dict[str, Any]) -> None:
    given = copy.deepcopy(raw)
    read = AST.parse(raw)
    provider = Functions(spoil=spoil, make=lambda: [{"a": 1}], both=lambda a, b: [a, b])

    async def twice() -> list[Any]:
        return [await AST.eval(read, provider), await AST.eval(read, provider)]

    first, second = asyncio.run(twice())
    assert first == second
    assert "spoilt" not in str(first)
    assert read == AST.parse(given)


def test_a_tool_that_keeps_its_output_changes_no_earlier_one() -> None:
    history: list[int] = []

    def log(x: int) -> list[int]:
        history.append(x)
        return history

    assert run(program(over("map", ["x"], function("log", value("x")), [1, 2])), Functions(log=log)) == [[1], [1, 2]]


def test_a_result_can_be_changed_without_changing_the_program() -> None:
    read = AST.parse(program(value("x", {"a": [1]})))

    async def change_and_repeat() -> Any:
        (await AST.eval(read, Functions()))["a"].append(2)
        return await AST.eval(read, Functions())

    assert asyncio.run(change_and_repeat()) == {"a": [1]}


@pytest.mark.parametrize("kind", ["map", "filter", "reduce"])
@pytest.mark.parametrize(
    ("items", "words"), [({"a": 1}, "an object"), ("abc", "a text"), (None, "null"), (3, "a number")]
)
def test_what_is_no_list_cannot_be_gone_over(kind: str, items: Any, words: str) -> None:
    params = ["a", "b"] if kind == "reduce" else ["a"]
    body = function("f", *(value(name) for name in params))
    with pytest.raises(ASTTypeError, match=f"a {kind} goes over a list, and not over {words}") as caught:
        run(program(over(kind, params, body, value("items", items))))
    assert isinstance(caught.value, TypeError)
    assert caught.value.pointer == "/body/0"


def test_truth_is_pythons() -> None:
    for falsy in (None, False, 0, 0.0, "", [], {}):
        assert run(program(choice(value("c", falsy), value("t", "yes"), value("f", "no")))) == "no"
    for truthy in (True, -1, 0.1, "no", [0], {"a": None}):
        assert run(program(choice(value("c", truthy), value("t", "yes"), value("f", "no")))) == "yes"


def test_a_lambda_does_not_reach_into_an_inner_one() -> None:
    provider = Functions(pair=lambda a, b: [a, b])
    inner = over("map", ["y"], function("pair", value("y"), value("x", "own")), [1])
    outer = over("map", ["x"], function("pair", value("x"), inner), ["outer"])
    assert run(program(outer), provider) == [["outer", [[1, "own"]]]]


def test_an_inner_lambdas_iterable_knows_the_outer_parameter() -> None:
    provider = Functions(pair=lambda a, b: [a, b])
    inner = over("map", ["y"], function("pair", value("y"), value("z", 0)), value("x"))
    outer = over("map", ["x"], function("pair", value("x", "ignored"), inner), [[1], [2]])
    assert run(program(outer), provider) == [[[1], [[1, 0]]], [[2], [[2, 0]]]]


def test_a_reduction_starts_from_its_accumulators_first_value() -> None:
    provider = Functions(add=lambda a, b: a + b, sum3=lambda a, b, c: a + b + c)
    start = {"value": 10}
    assert (
        run(program(over("reduce", ["a", "b"], function("add", value("a") | start, value("b")), [1, 2])), provider)
        == 13
    )
    second = function("sum3", value("a") | start, value("b"), value("a", 99))
    assert run(program(over("reduce", ["a", "b"], second, [1])), provider) == 21
    deep = function("add", function("add", value("a", "x"), value("b")), value("a", "y"))
    assert run(program(over("reduce", ["a", "b"], deep, ["1"])), provider) == "x1x"
    start_list: list[int] = []
    appended = over("reduce", ["a", "b"], function("put", value("a", start_list), value("b")), [1, 2])
    read = AST.parse(program(appended))
    both = Functions(put=lambda a, b: [*a, b])
    assert [asyncio.run(AST.eval(read, both)) for _ in range(2)] == [[1, 2]] * 2


def test_a_lambda_that_nothing_applies_is_an_async_function() -> None:
    async def make_and_call() -> list[Any]:
        provider = Functions(pair=lambda a, b: [a, b])
        pair = await evaluate(program(lambda_(["x", "y"], function("pair", value("x"), value("y")))), provider)
        for positional, named in [((), {"x": 1}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"x": 1, "y": 2})]:
            with pytest.raises(TypeError, match=r"takes exactly \['x', 'y'\], in this order or by name"):
                await pair(*positional, **named)
        return await asyncio.gather(pair(x=1, y=2), pair(y=3, x=4), pair(5, 6), pair(7, y=8))

    assert asyncio.run(make_and_call()) == [[1, 2], [4, 3], [5, 6], [7, 8]]


def test_no_tool_takes_a_lambda() -> None:
    with pytest.raises(ASTTypeError, match="the argument 'x' of the tool 'same' is a lambda") as caught:
        run(program(function("same", lambda_([], function("same", value("x", 1))))), Functions(same=lambda x: x))
    assert caught.value.pointer == "/body/0"


def test_a_program_made_in_python_is_checked_before_it_runs() -> None:
    read = AST.parse(program2(call("f"), definitions=[define("f", [], literal(1))]))
    broken = read.model_copy(update={"definitions": ()})
    with pytest.raises(ASTValidationError, match="defines no function 'f'"):
        asyncio.run(AST.eval(broken, Functions(), ExecutionLimits()))


def test_programs_with_nothing_or_several_nodes_give_lists() -> None:
    assert run(program()) == []
    assert run(program(value("x", 1), program(value("y", 2), value("z", 3)))) == [1, [2, 3]]
    assert run(program(program(mode="parallel"))) == []


def test_an_output_can_be_of_another_type_with_a_content() -> None:
    class Plain(Functions):
        async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
            return ToolOutput(content={"name": name, **arguments})

    assert run(program2(tool("same", x=literal(None))), Plain(same=lambda x: x)) == {"name": "same", "x": None}
