"""The default negotiator: what it selects, refuses, grants and remembers (FBK-5 to FBK-11, NEG-1 to NEG-6)."""

from __future__ import annotations

import copy
import gc
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

from treelang import (
    DefaultModelCapabilityNegotiator,
    ModelCapabilities,
    ModelCapabilityNegotiator,
    ModelTransport,
    ScriptedTransport,
    StructuredOutputSelection,
    StructuredOutputUnsupportedError,
    ToolDefinition,
)

MODEL = "oak-1"
TOOL = ToolDefinition(name="get_weather", properties={"city": {"type": "string"}})
STRICT = ModelCapabilities(strict_json_schema=True, recursive_schemas=True)
NOTHING = ModelCapabilities()


def select(
    negotiator: DefaultModelCapabilityNegotiator,
    capabilities: ModelCapabilities,
    mode: str = "auto",
    *,
    model: str = MODEL,
    tools: tuple[ToolDefinition, ...] = (TOOL,),
    version: str = "2.0",
) -> StructuredOutputSelection:
    return negotiator.structured_output(
        capabilities, model=model, configured_mode=mode, schema_version=version, tools=tools
    )


def strict_transport() -> ScriptedTransport:
    return ScriptedTransport([], capabilities=STRICT)


class Silent:
    """A transport that declares nothing, and counts the requests that nobody is to make."""

    def __init__(self) -> None:
        self.requests = 0

    async def complete(self, request: Any) -> str:
        self.requests += 1
        return "{}"

    async def stream(self, request: Any) -> Any:
        self.requests += 1
        yield "{}"


def test_it_is_a_negotiator() -> None:
    assert isinstance(DefaultModelCapabilityNegotiator(), ModelCapabilityNegotiator)


@pytest.mark.parametrize(
    ("capabilities", "mode", "selected", "kind"),
    [
        (STRICT, "auto", "strict", "json_schema"),
        (STRICT, "required", "strict", "json_schema"),
        (STRICT, "compatibility", "compatibility", "json_object"),
        (NOTHING, "auto", "compatibility", "json_object"),
        (NOTHING, "compatibility", "compatibility", "json_object"),
    ],
)
def test_the_mode_and_what_is_declared_decide(
    capabilities: ModelCapabilities, mode: str, selected: str, kind: str
) -> None:
    selection = select(DefaultModelCapabilityNegotiator(), capabilities, mode)
    assert (selection.mode, selection.response_format["type"]) == (selected, kind)


def test_a_strict_selection_can_be_sent_as_it_is() -> None:
    described = select(DefaultModelCapabilityNegotiator(), STRICT).response_format["json_schema"]
    assert (described["name"], described["strict"]) == ("treelang_program", True)
    assert described["schema"]["type"] == "object"


def test_a_transport_without_discovery_has_the_conservative_defaults_and_is_not_asked() -> None:
    transport = Silent()
    assert DefaultModelCapabilityNegotiator().capabilities(transport, MODEL) == NOTHING
    assert transport.requests == 0


@pytest.mark.parametrize("declared", [STRICT, NOTHING, ModelCapabilities(temperature=True)])
def test_capabilities_are_what_the_transport_declares(declared: ModelCapabilities) -> None:
    transport = ScriptedTransport([], capabilities=declared)
    found = DefaultModelCapabilityNegotiator().capabilities(transport, MODEL)
    assert (found, found.recursive_schemas, hash(found)) == (declared, declared.recursive_schemas, hash(found))
    assert declared == found


def test_a_required_capability_that_is_missing_is_refused_with_the_model() -> None:
    with pytest.raises(StructuredOutputUnsupportedError, match=r"nothing was sent: .* the model 'oak-1'"):
        select(DefaultModelCapabilityNegotiator(), NOTHING, "required")


def test_tools_that_cannot_be_expressed_are_told_beforehand() -> None:
    tool = ToolDefinition(name="keep", properties={"record": {"type": "object"}})
    selection = select(DefaultModelCapabilityNegotiator(), STRICT, tools=(tool,))
    assert selection.mode == "compatibility"
    assert "the argument 'record' of the tool 'keep'" in selection.reason
    with pytest.raises(StructuredOutputUnsupportedError, match="'record'"):
        select(DefaultModelCapabilityNegotiator(), STRICT, "required", tools=(tool,))


def test_without_recursion_the_schema_is_written_out_or_not_to_be_had() -> None:
    flat = ModelCapabilities(strict_json_schema=True)
    assert select(DefaultModelCapabilityNegotiator(), flat, version="1.0").mode == "strict"
    assert select(DefaultModelCapabilityNegotiator(), flat, version="2.0").mode == "strict"
    many = ToolDefinition(name="add", properties={f"p{number}": {"type": "number"} for number in range(20)})
    selection = select(DefaultModelCapabilityNegotiator(), flat, version="2.0", tools=(TOOL, many))
    assert selection.mode == "compatibility"
    assert "places for several types, and strict output takes 16" in selection.reason
    assert select(DefaultModelCapabilityNegotiator(), STRICT, version="2.0", tools=(TOOL, many)).mode == "strict"


def test_an_unknown_mode_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="there is no mode 'strict'; it is 'auto', 'required' or 'compatibility'"):
        select(DefaultModelCapabilityNegotiator(), STRICT, "strict")


@pytest.mark.parametrize("mode", ["required", "compatibility"])
def test_a_fallback_is_granted_under_auto_alone(mode: str) -> None:
    negotiator = DefaultModelCapabilityNegotiator()
    assert negotiator.fallback_after_rejection(select(negotiator, STRICT, mode), mode) is None


def test_a_fallback_leads_from_strict_to_json_mode_and_no_further() -> None:
    negotiator = DefaultModelCapabilityNegotiator()
    fallback = negotiator.fallback_after_rejection(select(negotiator, STRICT), "auto")
    assert fallback is not None
    assert (fallback.mode, fallback.response_format) == ("compatibility", {"type": "json_object"})
    assert negotiator.fallback_after_rejection(fallback, "auto") is None


def rejected(negotiator: DefaultModelCapabilityNegotiator, transport: ModelTransport) -> None:
    negotiator.fallback_after_rejection(select(negotiator, negotiator.capabilities(transport, MODEL)), "auto")


def test_a_rejection_is_remembered_of_that_transport_model_and_schema_alone() -> None:
    negotiator, transport, other = DefaultModelCapabilityNegotiator(), strict_transport(), strict_transport()
    rejected(negotiator, transport)
    known = negotiator.capabilities(transport, MODEL)
    assert select(negotiator, known).mode == "compatibility"
    assert "has rejected the strict schema for the model 'oak-1' before" in select(negotiator, known).reason
    with pytest.raises(StructuredOutputUnsupportedError, match=r"nothing was sent: .* rejected .* before"):
        select(negotiator, known, "required")
    assert select(negotiator, known, model="oak-2").mode == "strict"
    assert select(negotiator, known, tools=()).mode == "strict"
    assert select(negotiator, negotiator.capabilities(other, MODEL)).mode == "strict"
    assert select(DefaultModelCapabilityNegotiator(), known).mode == "strict"


def test_what_is_remembered_keeps_no_transport_alive() -> None:
    negotiator, transport = DefaultModelCapabilityNegotiator(), strict_transport()
    rejected(negotiator, transport)
    gone = weakref.ref(transport)
    del transport
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_a_rejection_is_remembered_also_where_it_is_final(mode: str) -> None:
    negotiator, transport = DefaultModelCapabilityNegotiator(), strict_transport()
    known = negotiator.capabilities(transport, MODEL)
    negotiator.fallback_after_rejection(select(negotiator, known, mode), mode)
    assert select(negotiator, negotiator.capabilities(transport, MODEL)).mode == "compatibility"


def test_a_rejection_is_remembered_of_capabilities_that_are_no_transports_too() -> None:
    negotiator = DefaultModelCapabilityNegotiator()
    negotiator.fallback_after_rejection(select(negotiator, STRICT), "auto")
    assert select(negotiator, STRICT).mode == "compatibility"
    assert select(negotiator, negotiator.capabilities(strict_transport(), MODEL)).mode == "strict"


def test_a_rejection_of_what_is_gone_says_nothing_of_what_takes_its_place() -> None:
    negotiator = DefaultModelCapabilityNegotiator()
    for _ in range(20):  # one of them lies where another lay before
        transport = strict_transport()
        assert select(negotiator, negotiator.capabilities(transport, MODEL)).mode == "strict"
        rejected(negotiator, transport)
        del transport


@dataclass
class Equal(Silent):
    """A transport that cannot be hashed, and equals all of its kind."""

    url: str = "same"

    def capabilities(self, model: str) -> ModelCapabilities:
        return STRICT


def test_transports_are_told_apart_by_identity() -> None:
    negotiator, transport, other = DefaultModelCapabilityNegotiator(), Equal(), Equal()
    assert transport == other
    rejected(negotiator, transport)
    modes = [select(negotiator, negotiator.capabilities(one, MODEL)).mode for one in (transport, other)]
    assert modes == ["compatibility", "strict"]


def test_a_selection_shares_nothing_with_the_next_one() -> None:
    negotiator = DefaultModelCapabilityNegotiator()
    for mode in ("auto", "compatibility"):
        first = select(negotiator, STRICT, mode)
        kept = copy.deepcopy(first)
        first.response_format["type"] = "spoilt"  # type: ignore[index]  # which is what a careless caller does
        assert select(negotiator, STRICT, mode) == kept


def test_selections_of_the_same_output_are_equal_whatever_the_reason() -> None:
    selection = select(DefaultModelCapabilityNegotiator(), NOTHING)
    assert selection == StructuredOutputSelection({"type": "json_object"}, "compatibility")
    assert selection.reason == "the transport does not declare strict output for the model 'oak-1'"


def test_tools_may_be_given_as_a_providers_mappings() -> None:
    metadata = {"name": "get_weather", "properties": {"city": {"type": "string"}}}
    negotiator = DefaultModelCapabilityNegotiator()
    selection = negotiator.structured_output(
        STRICT, model=MODEL, configured_mode="auto", schema_version="2.0", tools=[metadata]
    )
    assert selection == select(negotiator, STRICT)


def test_the_oldest_rejections_are_forgotten() -> None:
    negotiator, transport = DefaultModelCapabilityNegotiator(), strict_transport()
    models = [f"oak-{number}" for number in range(1_025)]
    for model in models:
        capabilities = negotiator.capabilities(transport, model)
        negotiator.fallback_after_rejection(select(negotiator, capabilities, model=model, tools=()), "auto")
    capabilities = negotiator.capabilities(transport, MODEL)
    modes = [select(negotiator, capabilities, model=model, tools=()).mode for model in (models[0], *models[-2:])]
    assert modes == ["strict", "compatibility", "compatibility"]


def test_a_transport_that_cannot_be_referred_to_weakly_is_served_all_the_same() -> None:
    class Bare:
        __slots__ = ()

        async def complete(self, request: Any) -> str:
            return "{}"

        async def stream(self, request: Any) -> Any:
            yield "{}"

        def capabilities(self, model: str) -> ModelCapabilities:
            return STRICT

    negotiator, transport = DefaultModelCapabilityNegotiator(), Bare()
    rejected(negotiator, transport)
    assert select(negotiator, negotiator.capabilities(transport, MODEL)).mode == "strict"
