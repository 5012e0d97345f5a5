"""What is no program is refused with its place and the mend, and never with anything but the hierarchy's error."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import MappingProxyType
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
from treelang.errors import ASTValidationError
from treelang.language.node import MAX_DEPTH
from treelang.language.parsing import parse

CONTENT = "sk-what-the-program-says"


@dataclass(frozen=True)
class Defect:
    name: str
    source: Any
    pointer: str
    words: str

    def __str__(self) -> str:
        return self.name


TEXTS = [
    Defect("no JSON", "print(1)", "", "line 1 column 1: a value is missing"),
    Defect("nothing", "", "", "line 1 column 1: a value is missing"),
    Defect(
        "cut short",
        '{"type": "program",\n "body": [{"type": "va',
        "/body/0/type",
        "line 2 column 20: a text is not closed",
    ),
    Defect("a comma too many", '{"body": [1,]}', "/body/1", "column 13: a value is missing"),
    Defect("a comma too few", '{"body": [1 2]}', "/body/0", "a comma is missing, or the end of the array"),
    Defect("single quotes", "{'body': []}", "", "a key in double quotes is missing"),
    Defect("no colon", '{"body" []}', "/body", "a colon is missing after the key"),
    Defect("text after it", "{} {}", "", "more text after the program"),
    Defect("NaN", '{"body": [{"value": NaN}]}', "/body/0/value", "NaN is no number of JSON's"),
    Defect("a very long integer", f'{{"value": {"9" * 5000}}}', "/value", "an integer of 5000 digits"),
    Defect("no object", "[]", "", "a program is a JSON object, and not an array"),
]

SHAPES = [
    Defect("null", None, "", "a program is a JSON object, and not null"),
    Defect("an unknown version", {"schema_version": "3.0"}, "/schema_version", "use '1.0' or '2.0'"),
    Defect("a version that is no text", {"schema_version": 2.0}, "/schema_version", "use '1.0' or '2.0'"),
    Defect("another node as the root", value("x", 1), "/type", "use 'program'"),
    Defect("no mode", {"type": "program", "body": []}, "", "the field 'mode' of the program is missing"),
    Defect("an unknown mode", program(mode="both"), "/mode", "'single' or 'parallel'"),
    Defect(
        "a field too many", program(value("x", 1) | {"extra": CONTENT}), "/body/0/extra", "has no such field, but type,"
    ),
    Defect("an unknown type", program({"type": CONTENT}), "/body/0/type", "use 'program', 'function', 'value'"),
    Defect("no node", program(value("x", [])["value"]), "/body/0", "and not an array"),
    Defect("a node for an array", program(body=value("x", 1)), "/body", "an array is needed"),
    Defect("an empty name", program(value("", 1)), "/body/0/name", "not an empty text"),
    Defect("a name that is no text", program(function("f") | {"name": 3}), "/body/0/name", "a text is needed"),
    Defect("a lambda's body", program(lambda_([], value("x", 1))), "/body/0/body/type", "use 'function'"),
    Defect(
        "no type where several fit",
        program({"function": lambda_(["x"], function("f", value("x"))), "iterable": value("l", [])}),
        "/body/0",
        "the node has no type: add one",
    ),
    Defect("an infinite number", program(value("x", {"a": [float("inf")]})), "/body/0/value/a/0", "not finite"),
    Defect("a lone surrogate", program(value("x", ["\ud800"])), "/body/0/value/0", "lone surrogate"),
    Defect("a lone surrogate in a key", program(value("x", {"\ud800": 1})), "/body/0/value", "no Unicode text"),
    Defect("a lone surrogate in a name", program(value("\ud800", 1)), "/body/0/name", "lone surrogate"),
    Defect("a huge integer", program(value("x", -(10**5000))), "/body/0/value", "more than 4300 digits"),
    Defect("Python's types", program(value("x", {1, 2})), "/body/0/value", "of the type set"),
    Defect("2.0: no body", program2(), "/body", "at least one node is needed"),
    Defect("2.0: a node of 1.0", program2(value("x", 1)), "/body/0/type", "use 'literal', 'variable'"),
    Defect("2.0: no identifier", program2(tool("a b")), "/body/0/tool", "use letters, digits and underscores"),
    Defect("2.0: one branch", program2(choice(literal(1), literal(2))), "/body/0", "'false_branch'"),
    Defect(
        "2.0: an argument without a name", program2(tool("t", **{"": literal(1)})), "/body/0/arguments/", "a name is"
    ),
    Defect(
        "2.0: a list of arguments", program2(tool("t") | {"arguments": []}), "/body/0/arguments", "an object is needed"
    ),
    Defect("a slash in a name", program2(tool("t", **{"a/b~": 1})), "/body/0/arguments/a~1b~0", "and not a number"),
]

f_x = function("f", value("x"))
RULES = [
    Defect("a parameter twice", program(lambda_(["x", "x"], f_x)), "/body/0/params/1", "'x' is there twice"),
    Defect("an unused parameter", program(lambda_(["x", "y"], f_x)), "/body/0/params", "'y' is not used"),
    Defect("a null for nothing", program(lambda_([], f_x)), "/body/0/body/params/0", "'x' stands for no parameter"),
    Defect(
        "a parameter of an outer lambda",
        program(
            over(
                "map",
                ["x"],
                function("f", value("x"), over("map", ["y"], function("f", value("y"), value("x")), [])),
                [],
            )
        ),
        "/body/0/function/body/params/1/function/body/params/1",
        "'x' stands for no parameter of its lambda",
    ),
    Defect(
        "a map of two", program(over("map", ["x", "y"], f_x, [])), "/body/0/function/params", "1 parameter, the item"
    ),
    Defect("a filter of none", program(over("filter", [], f_x, [])), "/body/0/function/params", "and not 0"),
    Defect("a reduce of one", program(over("reduce", ["x"], f_x, [])), "/body/0/function/params", "2 parameters"),
    Defect(
        "no start value",
        program(over("reduce", ["a", "i"], function("f", value("a"), function("g", value("i"))), [])),
        "/body/0",
        "no start value, but does more with its item 'i'",
    ),
    Defect("2.0: an unknown function", program2(call("f")), "/body/0/function", "call a tool with a tool_call"),
    Defect(
        "2.0: an arity",
        program2(call("f"), definitions=[define("f", ["a", "b"], literal(1))]),
        "/body/0/arguments",
        "takes 2 arguments, ['a', 'b'], and not 0",
    ),
    Defect(
        "2.0: a function twice",
        program2(literal(1), definitions=[define("f", [], literal(1)), define("f", [], literal(2))]),
        "/definitions/1",
        "'f' is there twice",
    ),
    Defect(
        "2.0: a parameter twice",
        program2(literal(1), definitions=[define("f", ["a", "a"], literal(1))]),
        "/definitions/0/params/1",
        "'a' is there twice",
    ),
    Defect("2.0: a global variable", program2(variable("x")), "/body/0/name", "there are no parameters here"),
    Defect(
        "2.0: another function's variable",
        program2(literal(1), definitions=[define("f", ["a"], literal(1)), define("g", ["b"], variable("a"))]),
        "/definitions/1/body/name",
        "use one of ['b']",
    ),
    Defect(
        "2.0: a memo with a variable",
        program2(literal(1), definitions=[define("f", ["a"], memo("k", tool("t", x=variable("a"))))]),
        "/definitions/0/body/expression/arguments/x",
        "the memo 'k' depends on the variable 'a'",
    ),
    Defect(
        "2.0: a key for two", program2(memo("k", literal(1)), memo("k", literal(1.0))), "/body/1/key", "use another key"
    ),
    Defect(
        "2.0: a memo in itself", program2(memo("k", memo("k", literal(1)))), "/body/0/expression/key", "another key"
    ),
    Defect(
        "2.0: a cyclic memo",
        program2(
            call("f"),
            definitions=[
                define("f", [], call("g")),
                define("g", [], choice(literal(1), memo("k", call("f")), literal(1))),
            ],
        ),
        "/definitions/1/body/true_branch",
        "the memo 'k' needs itself",
    ),
    Defect("the second of a list", [program(), program(lambda_(["x"], function("f")))], "/1/body/0/params", "not used"),
]


@pytest.mark.parametrize("defect", [*TEXTS, *SHAPES, *RULES], ids=str)
def test_a_defect_is_named_with_its_place_and_the_mend(defect: Defect) -> None:
    with pytest.raises(ASTValidationError) as caught:
        parse(defect.source)

    assert caught.value.pointer == defect.pointer
    assert defect.words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert CONTENT not in "".join(map(str, (caught.value, caught.value.__cause__, caught.value.args)))


def nested(depth: int) -> dict[str, Any]:
    """A program with a node at that depth, the program counted as 1."""
    node = value("x", 1)
    for _ in range(depth - 2):
        node = function("f", node)
    return program(node)


def nested_text(depth: int) -> str:
    opened = '{"type":"function","name":"f","params":[' * (depth - 2)
    closed = "]}" * (depth - 2)
    return f'{{"type":"program","mode":"single","body":[{opened}{{"type":"value","name":"x","value":1}}{closed}]}}'


@pytest.mark.parametrize("depth", [100, 300, sys.getrecursionlimit() + 10, MAX_DEPTH])
def test_nesting_is_not_bounded_by_pythons_stack(depth: int) -> None:
    for source in (nested(depth), nested_text(depth)):
        node: Any = parse(source)
        levels = 1
        while below := list(node.children(None)):
            [(node, _)] = below
            levels += 1
        assert levels == depth


@pytest.mark.parametrize("source", [nested(MAX_DEPTH + 1), nested(100_000), nested_text(100_000), "[" * 100_000])
def test_nesting_without_end_is_refused_in_one_short_line(source: Any) -> None:
    with pytest.raises(ASTValidationError, match=r"nested deeper than \d+ levels; divide the program") as caught:
        parse(source)

    assert len(str(caught.value)) < 400


def test_a_value_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless += [endless, endless]
    for source in (program(value("x", endless)), program(endless), program(body=endless)):  # type: ignore[arg-type]
        with pytest.raises(ASTValidationError):
            parse(source)


def test_a_node_needs_no_type_where_its_fields_leave_no_doubt() -> None:
    given = {"body": [{"name": "f", "params": [{"name": "x", "value": None}]}], "mode": "single"}
    assert parse(given) == parse(program(function("f", value("x"))))

    given2 = {"body": [{"tool": "t", "arguments": {"x": {"value": 1}}}, {"key": "k", "expression": {"function": "f"}}]}
    expected = program2(tool("t", x=literal(1)), memo("k", call("f")), definitions=[define("f", [], literal(2))])
    assert parse(given2 | {"definitions": [{"name": "f", "body": {"value": 2}}]}) == parse(expected)


def test_the_nodes_tell_the_format_where_no_version_does() -> None:
    assert parse(program(value("x", 1))).schema_version == "1.0"
    assert parse({"type": "program", "body": [literal(1)]}).schema_version == "2.0"
    assert (
        parse({"type": "program", "body": [{"type": "variable"}], "definitions": []} if False else program()).body == ()
    )


def test_a_read_only_program_can_be_read() -> None:
    source = MappingProxyType(program(MappingProxyType(value("x", MappingProxyType({"a": (1, 2)})))))  # type: ignore[arg-type]
    assert parse(source) == parse(program(value("x", {"a": [1, 2]})))


def test_names_of_tools_arguments_need_not_be_identifiers() -> None:
    read = parse(program2(tool("t", **{"file-path": literal(1)})))
    assert read.body[0].arguments.keys() == {"file-path"}  # type: ignore[union-attr]
