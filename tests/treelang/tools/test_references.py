"""No schema is ever fetched: references lead into the same schema or are refused, and no server hears of them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from treelang.errors import InvalidToolArgumentsError, ProviderResponseError
from treelang.tools.definition import ToolDefinition
from treelang.tools.validation import compile_tool


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a socket that would hear of an attempt, and that has heard of none in the end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(BlockingIOError):
            server.accept()


EXTERNAL = {
    "ref": lambda url: {"$ref": f"{url}/schema.json"},
    "ref with a fragment": lambda url: {"$ref": f"{url}/schema.json#/$defs/x"},
    "dynamic ref": lambda url: {"$dynamicRef": f"{url}/schema.json#x"},
    "recursive ref": lambda url: {"$recursiveRef": f"{url}/schema.json"},
    "relative to an id": lambda url: {"$id": f"{url}/root.json", "$ref": "other.json"},
    "a path only": lambda _: {"$ref": "other.json"},
    "an empty reference": lambda url: {"$id": f"{url}/root.json", "$ref": ""},
    "another scheme": lambda _: {"$ref": "file:///etc/passwd"},
    "without a scheme": lambda url: {"$ref": url.removeprefix("http:")},
    "the metaschema": lambda _: {"$ref": "https://json-schema.org/draft/2020-12/schema"},
    "an id in the same schema": lambda url: {"$ref": f"{url}/a", "$defs": {"a": {"$id": f"{url}/a"}}},
}
PLACES = {
    "the root": lambda schema: schema,
    "a property": lambda schema: {"properties": {"x": schema}},
    "a property called like data": lambda schema: {"properties": {"const": {"properties": {"enum": schema}}}},
    "an unused definition": lambda schema: {"$defs": {"x": schema}},
    "a list": lambda schema: {"allOf": [{}, {"not": {"items": schema}}]},
    "below an id": lambda schema: {"properties": {"x": {"$id": "urn:inner", "items": schema}}},
    "an unknown keyword": lambda schema: {"x-mine": {"deep": [schema]}},
    "beside properties only": lambda schema: {"properties": {"x": {"anyOf": [schema]}}},
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("reference", EXTERNAL.values(), ids=EXTERNAL)
def test_an_external_reference_is_refused(address: str, reference: Any, place: Any) -> None:
    with pytest.raises(ProviderResponseError, match="an external reference at ") as caught:
        ToolDefinition(name="tool", input_schema=place(reference(address)))
    assert address not in str(caught.value)


def test_properties_alone_may_not_refer_to_the_outside_either(address: str) -> None:
    with pytest.raises(ProviderResponseError, match=r"an external reference at '/properties/x/items/\$ref'"):
        compile_tool({"name": "tool", "properties": {"x": {"items": {"$ref": address}}}})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"$schema": "http://127.0.0.1/dialect"}}},
        {"$schema": "http://127.0.0.1/dialect"},
        {"properties": {"x": {"$schema": "http://json-schema.org/draft-07/schema#"}}},
    ],
)
def test_a_dialect_is_not_looked_up(schema: dict[str, Any]) -> None:
    with pytest.raises(ProviderResponseError, match=r"\$schema at "):
        ToolDefinition(name="tool", input_schema=schema)


def test_data_that_looks_like_a_reference_leads_nowhere(address: str) -> None:
    reference = {"$ref": f"{address}/schema.json"}
    schema = {
        "properties": {
            "x": {"const": reference, "default": reference, "examples": [reference], "enum": [reference]},
            "$ref": {"type": "integer"},
        }
    }
    compile_tool({"name": "tool", "input_schema": schema}).validate({"x": reference, "$ref": 1})


def test_a_reference_into_data_that_refers_to_the_outside_is_refused(address: str) -> None:
    schema = {"properties": {"x": {"$ref": "#/properties/y/const"}, "y": {"const": {"$ref": f"{address}/schema.json"}}}}
    with pytest.raises(ProviderResponseError, match="has an invalid input schema"):
        ToolDefinition(name="tool", input_schema=schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"$ref": "#/$defs/number"}}, "$defs": {"number": {"type": "integer"}}},
        {"properties": {"x": {"$ref": "#number"}}, "$defs": {"it": {"$anchor": "number", "type": "integer"}}},
        {"properties": {"x": {"$dynamicRef": "#n"}}, "$defs": {"it": {"$dynamicAnchor": "n", "type": "integer"}}},
        {
            "$id": "https://example.com/never-fetched",
            "properties": {"x": {"$ref": "#/$defs/number"}},
            "$defs": {"number": {"type": "integer"}},
        },
        {
            "properties": {"x": {"$id": "urn:inner", "$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}},
        },
    ],
)
def test_a_reference_within_the_schema_is_followed(schema: dict[str, Any]) -> None:
    tool = compile_tool({"name": "tool", "input_schema": schema})
    tool.validate({"x": 1})
    with pytest.raises(InvalidToolArgumentsError, match="at 'x' the constraint 'type' is broken"):
        tool.validate({"x": "1"})


def test_a_schema_may_be_recursive() -> None:
    schema = {
        "properties": {"tree": {"$ref": "#/$defs/tree"}},
        "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    }
    tool = compile_tool({"name": "tool", "input_schema": schema})
    tool.validate({"tree": [[], [[]]]})
    with pytest.raises(InvalidToolArgumentsError, match=r"at 'tree\.1\.0' the constraint 'type' is broken"):
        tool.validate({"tree": [[], [1]]})
