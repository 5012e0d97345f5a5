"""The strict projections stay inside the providers' subsets, and what they accept the formats accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.treelang.language.strict_subsets import anthropic_defects, openai_defects
from treelang.language.program import PROGRAMS
from treelang.language.strict.projection import strict_schema
from treelang.language.strict.subset import NotExpressibleError, Schema, referred, walk
from treelang.tools.definition import ToolDefinition

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
SCALARS = st.sampled_from(["string", "integer", "number", "boolean"]).map(lambda kind: {"type": kind})
NULLABLE = SCALARS.map(lambda schema: {"type": [schema["type"], "null"]})


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    def with_required(properties: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        required = st.lists(st.sampled_from(sorted(properties)), unique=True) if properties else st.just([])
        return required.map(lambda names: {"type": "object", "properties": properties, "required": names})

    return st.dictionaries(NAMES, inner, max_size=3).flatmap(with_required)


def _wider(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return objects(inner) | inner.map(lambda items: {"type": "array", "items": items})


VALUES = st.recursive(
    SCALARS | NULLABLE | st.just({"type": "string", "enum": ["low", "high"]}),
    _wider,
    max_leaves=4,
)
TOOLS = st.dictionaries(NAMES, objects(VALUES), max_size=4).map(
    lambda tools: [ToolDefinition(name=name, input_schema=schema) for name, schema in tools.items()]
)


@settings(deadline=None)
@given(tools=TOOLS, version=st.sampled_from(sorted(PROGRAMS)))
def test_the_recursive_projection_is_in_openais_subset_or_said_not_to_be_had(
    tools: list[ToolDefinition], version: str
) -> None:
    try:
        schema = strict_schema(version, tools, recursive=True)
    except NotExpressibleError:
        event("not to be had")
    else:
        assert list(openai_defects(schema)) == []


@settings(deadline=None)
@given(tools=TOOLS, version=st.sampled_from(sorted(PROGRAMS)))
def test_the_written_out_projection_is_in_anthropics_subset_or_said_not_to_be_had(
    tools: list[ToolDefinition], version: str
) -> None:
    try:
        schema = strict_schema(version, tools, recursive=False)
    except NotExpressibleError:
        event("not to be had")
    else:
        assert list(anthropic_defects(schema)) == []
        assert list(openai_defects(schema)) == []


class Matching:
    """Makes what a strict schema accepts; each definition's strategy is built once for each depth."""

    def __init__(self, schema: Schema) -> None:
        self._definitions: Mapping[str, Schema] = schema["$defs"]
        self._built: dict[tuple[str, int], st.SearchStrategy[Any]] = {}

    def of(self, schema: Schema, depth: int) -> st.SearchStrategy[Any]:
        """What a schema accepts, nested no deeper than so many references where that can be had."""
        name = referred(schema)
        if name is not None:
            key = name, depth - 1
            if key not in self._built:
                self._built[key] = self.of(self._definitions[name], depth - 1)
            return self._built[key]
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        if "anyOf" in schema:
            alternatives = schema["anyOf"]
            if depth <= 0:
                alternatives = [one for one in alternatives if _is_leaf(one, self._definitions)] or alternatives
            return st.one_of([self.of(one, depth) for one in alternatives])
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return st.one_of([self._of_kind(kind, schema, depth) for kind in kinds])

    def _of_kind(self, kind: str, schema: Schema, depth: int) -> st.SearchStrategy[Any]:
        match kind:
            case "object":
                return st.fixed_dictionaries({key: self.of(one, depth) for key, one in schema["properties"].items()})
            case "array":
                least = schema.get("minItems", 0)
                if depth <= 0 and least == 0:
                    return st.just([])
                return st.lists(self.of(schema["items"], depth), min_size=least, max_size=max(least, 2))
            case "string":
                if schema.get("pattern", ".") == ".":
                    return st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
                return st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,3}", fullmatch=True)
            case "null":
                return st.none()
            case "boolean":
                return st.booleans()
        return st.integers() | st.floats(allow_nan=False, allow_infinity=False)


def _is_leaf(schema: Schema, definitions: Mapping[str, Schema]) -> bool:
    name = referred(schema)
    resolved = schema if name is None else definitions[name]
    return all(referred(part) is None for part in walk(resolved))


WEATHER = ToolDefinition(
    name="get_weather",
    input_schema={
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "where": {
                "type": "object",
                "properties": {"latitude": {"type": "number"}, "label": {"type": "string"}},
                "required": ["latitude"],
            },
            "units": {"type": "string"},
            "note": {"type": ["string", "null"]},
        },
        "required": ["city", "where"],
    },
)


SCHEMAS = {
    (version, recursive): strict_schema(version, [WEATHER], recursive=recursive)
    for version, recursive in [("1.0", True), ("2.0", True), ("1.0", False)]
}
PROGRAMS_OF = {key: Matching(schema).of(schema, 4) for key, schema in SCHEMAS.items()}


@pytest.mark.parametrize(("version", "recursive"), SCHEMAS)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])  # programs are large
@given(data=st.data())
def test_what_the_projection_accepts_the_format_accepts(version: str, recursive: bool, data: st.DataObject) -> None:
    program = data.draw(PROGRAMS_OF[version, recursive])
    assert PROGRAMS[version].model_validate(program).schema_version == version


def test_a_tools_object_has_its_closed_shape_and_only_arguments_that_can_be_required() -> None:
    definitions = strict_schema("2.0", [WEATHER], recursive=True)["$defs"]
    arguments = definitions["ToolCall0"]["properties"]["arguments"]
    assert arguments["required"] == ["city", "where", "note"]  # `units` can neither be required nor null
    literal = definitions[str(referred(arguments["properties"]["where"]["anyOf"][0]))]
    assert literal["properties"]["value"] == {
        "type": "object",
        "properties": {"latitude": {"type": "number"}},
        "required": ["latitude"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (ToolDefinition(name="web-search"), "the tool 'web-search' has a name that format 2.0 cannot call"),
        (
            ToolDefinition(name="keep", properties={"record": {"type": "object"}}),
            "the argument 'record' of the tool 'keep': its schema leaves open what it is",
        ),
        (
            ToolDefinition(name="keep", input_schema={"type": "object", "required": ["key"]}),
            "the tool 'keep' requires 'key', which it does not describe",
        ),
    ],
)
def test_a_tool_that_cannot_be_expressed_is_named_with_the_reason(tool: ToolDefinition, reason: str) -> None:
    with pytest.raises(NotExpressibleError) as raised:
        strict_schema("2.0", [tool], recursive=True)
    assert str(raised.value) == reason


def test_more_tools_than_strict_output_takes_are_said_to_be_too_many() -> None:
    tools = [ToolDefinition(name=f"tool_{number}") for number in range(1_001)]
    with pytest.raises(NotExpressibleError, match="enum values, and strict output takes 1000"):
        strict_schema("1.0", tools, recursive=True)
