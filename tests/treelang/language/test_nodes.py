"""Nodes are closed and immutable, and own their values."""

from __future__ import annotations

import gc
import weakref
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from tests.treelang.language.programs import define, function, literal, memo, program, program2, tool, value
from tests.treelang.language.strategies import json_values
from treelang.errors import ASTValidationError
from treelang.language import v1, v2
from treelang.language.cycles import cycles
from treelang.language.identity import IdentityCache
from treelang.language.json_value import NotJSONError, copy_json
from treelang.language.parsing import parse
from treelang.language.serialization import serialize
from treelang.language.shapes import shapes
from treelang.language.validation import check


def test_a_program_cannot_be_changed() -> None:
    read = parse(program(function("f", value("x", 1))))

    for node, field in ((read, "mode"), (read, "body"), (read.body[0], "name")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(node, field, getattr(node, field))
    assert isinstance(read.body, tuple)


def test_a_program_does_not_change_with_what_it_was_read_from() -> None:
    items = [1, {"a": [2]}]
    read = parse(program(value("x", items)))
    items[1]["a"].append(3)  # type: ignore[index]

    assert read.body[0].value == [1, {"a": [2]}]  # type: ignore[union-attr]


def test_a_program_made_in_python_is_closed_too() -> None:
    with pytest.raises(ValidationError, match="extra"):
        v2.TreeLiteral(value=1, other=2)  # type: ignore[call-arg]
    made = v1.TreeProgram(
        body=(v1.TreeLambda(params=("x",), body=v1.TreeFunction(name="f", params=())),), mode="single"
    )
    with pytest.raises(ASTValidationError, match="'x' is not used"):
        check(made)


def test_writing_keeps_the_order_of_fields_and_leaves_out_what_is_not_there() -> None:
    text = '{"type":"program","body":[{"type":"value","name":"é","value":null}],"mode":"single","schema_version":"1.0"}'
    assert serialize(parse(text)) == text


@given(json_values)
def test_a_copy_is_equal_and_shares_nothing(given_value: Any) -> None:
    copied = copy_json(given_value)
    assert (copied, type(copied)) == (given_value, type(given_value))

    def containers(item: Any) -> set[int]:
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else []
        found = {id(item)} if isinstance(item, list | dict) else set()
        return found.union(*(containers(one) for one in inner))

    assert not containers(copied) & containers(given_value)


def test_a_copy_has_jsons_own_types() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Number(IntEnum):
        ONE = 1

    class Half(float):
        pass

    copied = copy_json((Colour.RED, Number.ONE, Half(0.5), {Colour.RED: (True,)}, True))
    assert copied == ["red", 1, 0.5, {"red": [True]}, True]
    assert [type(item) for item in copied] == [str, int, float, dict, bool]


@pytest.mark.parametrize("bad", [{1: 2}, object(), b"x", float("nan"), [[[{"a": {1}}]]], 10**5000, "\udfff"], ids=type)
def test_what_is_no_json_is_refused(bad: Any) -> None:
    with pytest.raises(NotJSONError):
        copy_json({"inner": [bad]})


def test_equal_nodes_have_equal_shapes_and_others_have_not() -> None:
    read = parse(
        program2(
            tool("t", a=literal(1), b=literal([1])),
            tool("t", b=literal([1]), a=literal(1)),
            tool("t", b=literal(1), a=literal([1])),
            tool("t", a=literal(1.0), b=literal([1])),
            tool("t", a=literal(True), b=literal([1])),
        )
    )
    found = shapes(read)
    numbers = [found[id(node)] for node in read.body]
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 4


def test_one_key_may_stand_in_several_places_for_one_expression() -> None:
    expression = tool("t", a=literal(1), b=memo("inner", literal(2)))
    read = parse(program2(memo("k", expression), literal(1), definitions=[define("f", [], memo("k", expression))]))
    assert parse(serialize(read)) == read


def test_cycles_are_found_and_paths_between_them_are_not() -> None:
    graph = {"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["d", "e"], "e": []}
    assert sorted(map(sorted, cycles(graph))) == [["a", "b"], ["d"]]
    chain = {number: [number + 1] for number in range(5000)}
    assert list(cycles(chain)) == []
    assert [len(found) for found in cycles(chain | {5000: [0]})] == [5001]


def test_what_is_kept_for_an_object_goes_with_it() -> None:
    kept: IdentityCache[v2.TreeLiteral, str] = IdentityCache()
    node, twin = v2.TreeLiteral(value=1), v2.TreeLiteral(value=1)
    kept.set(node, "found")
    assert (kept.get(node), kept.get(twin)) == ("found", None)

    gone = weakref.ref(node)
    del node
    gc.collect()
    assert gone() is None
    assert not kept._entries
