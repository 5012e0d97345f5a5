"""What the prompts say: every tool in order with its whole schema, and only true examples."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.treelang.arborist.models import Tools
from treelang import AST, ASTValidationError, ToolDefinition, ToolProperty
from treelang.arborist.config import SchemaVersion
from treelang.arborist.prompting import correction, instructions
from treelang.language import v1, v2
from treelang.language.node import Node

VERSIONS = get_args(SchemaVersion)

SCHEMA = {
    "$defs": {"place": {"type": "string", "maxLength": 60}},
    "type": "object",
    "properties": {"to": {"$ref": "#/$defs/place"}, "from": {"$ref": "#/$defs/place"}, "via": {"default": "{{tools}}"}},
    "required": ["to"],
}
TOOLS = [
    ToolDefinition(name="travel", description="Travels. Über {{error}} \\1", input_schema=SCHEMA),
    ToolDefinition(name="look", properties=[ToolProperty(name="at", type="string")]),
    ToolDefinition(name="again"),
]

EXPECTED_ANSWERS: dict[str, list[Any]] = {"1.0": ["Sunny, 25°C", 1839.76, 12904000], "2.0": ["Sunny, 25°C", 6]}
"""What the examples of each format give, in their order."""


def examples(version: str) -> list[str]:
    return re.findall(r"```json\n(.*?)\n```", instructions(version, []), re.DOTALL)


def listed(text: str) -> list[dict[str, Any]]:
    """The tools that a prompt lists."""
    return [json.loads(line) for line in text.split("# The tools")[1].splitlines() if line.startswith("{")]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_tool_is_named_in_order_with_its_parameters_and_its_whole_schema(version: str) -> None:
    assert listed(instructions(version, TOOLS)) == [
        {
            "name": "travel",
            "description": "Travels. Über {{error}} \\1",
            "parameters": ["to", "from", "via"],
            "input_schema": SCHEMA,
        },
        {
            "name": "look",
            "parameters": ["at"],
            "input_schema": {
                "type": "object",
                "properties": {"at": {"type": "string"}},
                "required": ["at"],
                "additionalProperties": False,
            },
        },
        {
            "name": "again",
            "parameters": [],
            "input_schema": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        },
    ]


NAMES = st.text(min_size=1)
DEFINITIONS = st.builds(
    ToolDefinition,
    name=NAMES,
    description=st.none() | st.text() | st.sampled_from(["{{tools}}", "# The tools\n\nThere are none.", "\\g<0>"]),
    properties=st.dictionaries(NAMES, st.fixed_dictionaries({"description": st.text()}), max_size=3),
)


@given(st.lists(DEFINITIONS, max_size=4), st.sampled_from(VERSIONS))
def test_whatever_a_tool_is_called_its_line_says_it_and_changes_no_other(
    tools: list[ToolDefinition], version: str
) -> None:
    before, text = instructions(version, TOOLS), instructions(version, [*TOOLS, *tools])
    added = text.removeprefix(before).split("\n")[1:]
    assert [json.loads(line)["name"] for line in added] == [tool.name for tool in tools]
    assert [json.loads(line)["input_schema"] for line in added] == [tool.complete_schema() for tool in tools]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_tools_come_last_so_that_all_before_them_can_be_cached(version: str) -> None:
    few, many = instructions(version, TOOLS[:1]), instructions(version, TOOLS)
    assert many.startswith(few)


@pytest.mark.parametrize("version", VERSIONS)
def test_without_tools_the_prompt_says_so(version: str) -> None:
    text = instructions(version, [])
    assert text.endswith("# The tools\n\nThere are none.")
    assert "{{" not in text


@pytest.mark.parametrize("version", VERSIONS)
def test_the_examples_are_valid_programs_that_give_what_they_are_said_to_give(version: str) -> None:
    results = [asyncio.run(AST.eval(AST.parse(example), Tools())) for example in examples(version)]
    assert results == EXPECTED_ANSWERS[version]


@pytest.mark.parametrize(("version", "form"), [("1.0", v1), ("2.0", v2)])
def test_every_kind_of_node_is_described_with_all_its_fields(version: str, form: Any) -> None:
    text = instructions(version, [])
    kinds = [one for one in vars(form).values() if isinstance(one, type) and issubclass(one, Node)]
    described = {
        kind: set(re.findall(r'"(\w+)":', fields))
        for kind, fields in re.findall(r'^- {"type": "(\w+)"(.*?)}[ \n]', text, re.DOTALL | re.MULTILINE)
    }
    assert described == {
        kind.model_fields["type"].default: set(kind.model_fields) - {"type"}
        for kind in kinds
        if isinstance(kind.model_fields["type"].default, str)
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_the_prompt_holds_the_word_that_json_modes_demand(version: str) -> None:
    assert "JSON" in instructions(version, [])


def test_the_correction_quotes_the_error_with_its_place_and_asks_for_the_whole_program() -> None:
    error = ASTValidationError("there is no tool 'x'; use one of '{{error}}'", pointer="/body/0/name")
    text = correction(error)
    assert "there is no tool 'x'; use one of '{{error}}' (at /body/0/name)" in text
    assert "the whole program once more" in text
