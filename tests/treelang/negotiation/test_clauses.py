"""The clauses on negotiation for whatever is declared, wanted and offered, and the schema as it stands on the wire."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.treelang.arborist.models import WIRES, Tools, model, run, value_program
from tests.treelang.language.strict_subsets import anthropic_defects, openai_defects
from treelang import (
    Arborist,
    ArboristConfig,
    DefaultModelCapabilityNegotiator,
    ModelCapabilities,
    StructuredOutputUnsupportedError,
    ToolDefinition,
    check_request,
)

SCHEMAS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
        {"type": ["integer", "null"]},
        {},
    ]
)
TOOLS = st.lists(
    st.builds(
        lambda name, properties: {"name": name, "properties": properties},
        st.sampled_from(["search", "add", "web-search", "é"]),
        st.dictionaries(st.sampled_from(["x", "y", "file-path"]), SCHEMAS, max_size=3),
    ),
    max_size=3,
    unique_by=lambda tool: tool["name"],
)


@settings(deadline=None)
@given(
    capabilities=st.builds(
        ModelCapabilities,
        strict_json_schema=st.booleans(),
        temperature=st.booleans(),
        recursive_schemas=st.booleans(),
    ),
    mode=st.sampled_from(["auto", "required", "compatibility"]),
    version=st.sampled_from(["1.0", "2.0"]),
    tools=TOOLS,
    name=st.text(min_size=1, max_size=5),
)
def test_a_selection_can_be_sent_and_falls_back_once_at_the_most(
    capabilities: ModelCapabilities, mode: str, version: str, tools: list[dict[str, Any]], name: str
) -> None:
    negotiator = DefaultModelCapabilityNegotiator()

    def select() -> Any:
        return negotiator.structured_output(
            capabilities,
            model=name,
            configured_mode=mode,
            schema_version=version,
            tools=[ToolDefinition.of(tool) for tool in tools],
        )

    try:
        selection = select()
    except StructuredOutputUnsupportedError as error:
        assert mode == "required", error  # noqa: PT017  # whether it is raised depends on the example
        return
    request = check_request({"model": "m", "messages": [turn()], "response_format": selection.response_format}, "test")
    assert (request.strict is not None, request.json_mode) == (selection.mode == "strict", selection.mode != "strict")
    assert selection.mode == "compatibility" or capabilities.strict_json_schema
    assert mode != "compatibility" or selection.mode == "compatibility"

    fallback = negotiator.fallback_after_rejection(selection, mode)
    assert (fallback is not None) == (mode == "auto" and selection.mode == "strict")
    if fallback is not None:
        assert (fallback.mode, fallback.response_format) == ("compatibility", {"type": "json_object"})
        assert negotiator.fallback_after_rejection(fallback, mode) is None
        assert select() == fallback


def turn() -> dict[str, str]:
    return {"role": "user", "content": "q"}


SCHEMA_PLACES = {
    "openai-chat": ("response_format", "json_schema", "schema"),
    "openai-responses": ("text", "format", "schema"),
    "anthropic-messages": ("output_config", "format", "schema"),
}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_sent_is_in_the_subset_that_the_provider_documents(wire: str, version: Any) -> None:
    async def sent() -> dict[str, Any]:
        async with model(wire) as asked:
            answer = value_program(1) if version == "1.0" else LITERAL
            asked.answers(answer)
            config = ArboristConfig(asked.name, schema_version=version, structured_output_mode="auto")
            await Arborist(asked.name, Tools(), config=config, transport=asked.transport).eval("q")
            schema = asked.provider.requests[0].json()
            for step in SCHEMA_PLACES[wire]:
                schema = schema[step]
            return schema

    schema = run(sent())
    defects = anthropic_defects if wire == "anthropic-messages" else openai_defects
    assert list(defects(schema)) == []


LITERAL = '{"type": "program", "schema_version": "2.0", "body": [{"type": "literal", "value": 1}]}'
