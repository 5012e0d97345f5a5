"""What a definition is made from, what it keeps, and what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from treelang.errors import InvalidToolArgumentsError, ProviderResponseError
from treelang.tools.definition import ToolDefinition, ToolProperty
from treelang.tools.validation import compile_tool

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"later": {"$ref": "#/$defs/day"}, "earlier": {"type": ["string", "null"]}, "never": False},
    "required": ["later"],
    "additionalProperties": False,
    "$defs": {"day": {"type": "string", "format": "date", "default": "2024-01-01"}},
    "x-order": [1, {"$ref": "#/$defs/day"}],
}


def test_an_input_schema_is_kept_whole_and_belongs_to_the_definition() -> None:
    given = copy.deepcopy(SCHEMA)
    definition = ToolDefinition(name="wait", input_schema=given)
    given["required"] = []
    assert definition.input_schema == SCHEMA
    assert definition.complete_schema() == SCHEMA


def test_properties_have_the_order_of_the_schema() -> None:
    definition = ToolDefinition(name="wait", input_schema=SCHEMA)
    assert list(definition.properties) == ["later", "earlier", "never"]
    assert [one.name for one in definition.properties.values()] == ["later", "earlier", "never"]
    assert definition.properties["earlier"].type == ["string", "null"]
    assert compile_tool(definition).properties == ("later", "earlier", "never")


def test_a_schema_says_everything_whatever_properties_stand_beside_it() -> None:
    definition = ToolDefinition.of({"name": "wait", "properties": {"other": {}}, "input_schema": SCHEMA})
    assert list(definition.properties) == ["later", "earlier", "never"]


def test_properties_are_found_where_the_root_refers_to() -> None:
    schema = {
        "$ref": "#/$defs/a~1b",
        "$defs": {"a/b": {"$ref": "#/allOf/0"}},
        "allOf": [{"properties": {"y": {}, "x": {}}}],
    }
    assert list(ToolDefinition(name="tool", input_schema=schema).properties) == ["y", "x"]


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}],
)
def test_references_in_a_circle_lead_to_no_properties(schema: dict[str, Any]) -> None:
    definition = ToolDefinition(name="tool", input_schema=schema)
    assert definition.properties == {}
    compile_tool(definition).validate({"anything": 1})


def test_properties_alone_are_all_required_and_nothing_else_is_allowed() -> None:
    definition = ToolDefinition.of({"name": "add", "properties": {"y": {"type": "integer", "minimum": 0}, "x": {}}})
    assert definition.complete_schema() == {
        "type": "object",
        "properties": {"y": {"type": "integer", "minimum": 0}, "x": {}},
        "required": ["y", "x"],
        "additionalProperties": False,
    }


def test_properties_are_given_as_a_mapping_or_as_a_sequence() -> None:
    listed = ToolDefinition(
        name="add", properties=[ToolProperty(name="y", type="integer", minimum=0), ToolProperty(name="x")]
    )
    keyed = ToolDefinition(name="add", properties={"y": ToolProperty(type="integer", minimum=0), "x": {}})
    assert listed == keyed
    assert list(listed.properties) == ["y", "x"]
    with pytest.raises(ValidationError, match="two properties of the same name"):
        ToolDefinition(name="add", properties=[ToolProperty(name="x"), ToolProperty(name="x")])


def test_a_definition_reads_like_the_mapping_that_it_was_made_from() -> None:
    mapping = {"name": "add", "description": "Add.", "properties": {"x": {"type": "integer", "default": None}}}
    definition = ToolDefinition.of(mapping)
    assert definition == mapping
    assert mapping == definition
    assert dict(definition) == mapping
    assert definition["properties"]["x"]["type"] == "integer"
    assert definition.get("description") == "Add."
    assert "input_schema" not in definition
    assert definition != {**mapping, "name": "sub"}
    assert ToolDefinition.of(dict(definition)) == definition


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])  # noqa: S301 - our own
def test_a_definition_can_be_copied_and_pickled(duplicate: Any) -> None:
    definition = ToolDefinition(name="wait", input_schema=SCHEMA)
    assert duplicate(definition) == definition
    assert compile_tool(duplicate(definition)).schema == SCHEMA


def test_a_definition_is_not_changed() -> None:
    definition = ToolDefinition(name="wait", input_schema=SCHEMA)
    with pytest.raises(ValidationError, match="frozen"):
        definition.name = "other"


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        (None, "of the tool None is invalid"),
        ({"properties": {}}, "at 'name'"),
        ({"name": "", "properties": {}}, "at 'name'"),
        ({"name": "tool", "description": 42, "properties": {}}, "'tool' is invalid at 'description'"),
        ({"name": "tool", "properties": 3}, "at 'properties'"),
        ({"name": "tool", "properties": {3: {}}}, "at 'properties.3"),
        ({"name": "tool", "properties": {"x": "integer"}}, "at 'properties.x'"),
        ({"name": "tool", "properties": {"x": {"description": 42}}}, "at 'properties.x.description'"),
        ({"name": "tool", "properties": {"x": {"type": 42}}}, "at '/properties/x/type'"),
        ({"name": "tool", "properties": {"x": {"enum": "one"}}}, "at '/properties/x/enum'"),
        ({"name": "tool", "properties": {"x": {"minimum": float("nan")}}}, "at '/properties/x/minimum'"),
        ({"name": "tool", "input_schema": "schema"}, "at 'input_schema'"),
        ({"name": "tool", "input_schema": {"type": "array"}}, "must describe an object"),
        ({"name": "tool", "input_schema": {"type": ["array", "null"]}}, "must describe an object"),
        ({"name": "tool", "input_schema": {"required": "x"}}, "at '/required'"),
        ({"name": "tool", "input_schema": {"properties": {"x": {"minimum": "1"}}}}, "at '/properties/x/minimum'"),
        ({"name": "tool", "input_schema": {"properties": {"x": {"pattern": "("}}}}, r'"\(" is not a "regex"'),
        ({"name": "tool", "input_schema": {"properties": {"x": {"$ref": "#/$defs/y"}}}}, r"'/\$defs/y' does not exist"),
        ({"name": "tool", "input_schema": {"properties": {"x": {"const": object()}}}}, "at '/properties/x/const'"),
        ({"name": "tool", "input_schema": {"properties": {"x": {"enum": ["\ud800"]}}}}, "at '/properties/x/enum/0'"),
        ({"name": "tool", "input_schema": {"$schema": "urn:of:mine"}}, r"\$schema at the root must be one of"),
    ],
)
def test_bad_metadata_is_the_providers_error_and_names_the_place(metadata: Any, place: str) -> None:
    with pytest.raises(ProviderResponseError, match=place) as caught:
        ToolDefinition.of(metadata)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_schema_nested_without_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"items": deep}
    endless: dict[str, Any] = {}
    endless["items"] = endless
    for schema in (deep, endless):
        with pytest.raises(ProviderResponseError, match="nested deeper than"):
            ToolDefinition(name="tool", input_schema={"properties": {"x": schema}})


def test_a_deep_schema_is_compiled_and_a_deeper_one_refused() -> None:
    deep: dict[str, Any] = {"type": "integer"}
    value: Any = "no integer"
    for _ in range(200):
        deep, value = {"items": deep}, [value]
    tool = compile_tool({"name": "tool", "properties": {"x": deep}})
    for _ in range(200):
        deep = {"items": deep}
    with pytest.raises(ProviderResponseError, match="Recursion limit"):
        compile_tool({"name": "tool", "properties": {"x": deep}})
    with pytest.raises(InvalidToolArgumentsError, match="the constraint 'type' is broken"):
        tool.validate({"x": value})


@pytest.mark.parametrize(
    ("dialect", "refused"),
    [
        ("http://json-schema.org/draft-07/schema#", [1]),
        ("https://json-schema.org/draft/2019-09/schema", [1]),
        ("https://json-schema.org/draft/2020-12/schema", ["a"]),
    ],
)
def test_a_schema_is_judged_by_the_draft_that_it_names(dialect: str, refused: list[Any]) -> None:
    # `items` of an array of schemas means one thing in draft-07 and 2019-09, and `prefixItems` another from 2020-12 on
    keyword = "prefixItems" if "2020" in dialect else "items"
    first = {"type": "integer"} if "2020" in dialect else {"type": "string"}
    schema = {"$schema": dialect, "properties": {"x": {keyword: [first]}}}
    tool = compile_tool({"name": "tool", "input_schema": schema})
    with pytest.raises(InvalidToolArgumentsError, match=r"at 'x\.0' the constraint 'type' is broken"):
        tool.validate({"x": refused})
