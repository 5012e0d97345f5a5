"""Mutants of NEG-1 to NEG-3: the default negotiator with one thing broken in what it asks, selects or refuses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.conformance.mutants.mutation import mutant
from treelang import (
    DefaultModelCapabilityNegotiator,
    ModelCapabilities,
    ModelTransport,
    StructuredOutputSelection,
    StructuredOutputUnsupportedError,
    ToolDefinition,
)
from treelang_conformance.registry import SuiteName

NEGOTIATOR = SuiteName.NEGOTIATOR

JSON_MODE = StructuredOutputSelection({"type": "json_object"}, "compatibility")
_TRIAL = {"model": "oak-1", "messages": [{"role": "user", "content": "Are you there?"}]}

_COUNTED = "its evaluations count requests too"
REQUIRED_OF_THE_SILENT = "strict output is required of a transport without discovery there too"


class NegotiatorMutation(DefaultModelCapabilityNegotiator):
    """A negotiator that notes what it is asked, and whose selections can be changed on their way out."""

    def __init__(self) -> None:
        super().__init__()
        self.transport: Any = None
        self.asked: list[tuple[str, str, str]] = []

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        self.transport = transport
        return super().capabilities(transport, model)

    def structured_output(
        self,
        capabilities: ModelCapabilities,
        *,
        model: str,
        configured_mode: str,
        schema_version: str,
        tools: Sequence[ToolDefinition | Mapping[str, Any]] = (),
    ) -> StructuredOutputSelection:
        self.asked.append((model, configured_mode, schema_version))
        selection = super().structured_output(
            self.believed(capabilities, model, configured_mode),
            model=model,
            configured_mode=self.policy(configured_mode),
            schema_version=schema_version,
            tools=tools,
        )
        return self.selected(selection, model, configured_mode)

    def believed(self, capabilities: ModelCapabilities, model: str, policy: str) -> ModelCapabilities:
        """The capabilities to select by."""
        return capabilities

    def policy(self, policy: str) -> str:
        """The policy to select by."""
        return policy

    def selected(self, selection: StructuredOutputSelection, model: str, policy: str) -> StructuredOutputSelection:
        """What to hand out in the place of a selection."""
        return selection


class FormatMutation(NegotiatorMutation):
    """A negotiator that changes the description of the schema in a strict selection."""

    def described(self, description: dict[str, Any], model: str) -> dict[str, Any]:
        raise NotImplementedError

    def selected(self, selection: StructuredOutputSelection, model: str, policy: str) -> StructuredOutputSelection:
        if selection.mode != "strict":
            return selection
        description = self.described(dict(selection.response_format["json_schema"]), model)
        return replace(selection, response_format={"type": "json_schema", "json_schema": description})


# --- NEG-1 ---


@mutant("NEG-1", suite=NEGOTIATOR, touches={"NEG-3": _COUNTED, "NEG-4": _COUNTED, "NEG-5": _COUNTED, "NEG-6": _COUNTED})
class TriesTheModelOut(NegotiatorMutation):
    """Discovery sends a request in a task of its own, to see whether the model answers."""

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        self.task = asyncio.get_running_loop().create_task(transport.complete(_TRIAL))
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return super().capabilities(transport, model)


@mutant("NEG-1", suite=NEGOTIATOR, touches={"NEG-3": _COUNTED, "NEG-6": _COUNTED})
class ListensToTheModel(NegotiatorMutation):
    """Of a transport without discovery, the first chunk of a stream is taken in a thread."""

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        if not callable(getattr(transport, "capabilities", None)):

            async def listen() -> None:
                await anext(aiter(transport.stream(_TRIAL)))

            thread = threading.Thread(target=lambda: asyncio.run(listen()))
            thread.start()
            thread.join()
        return super().capabilities(transport, model)


@mutant("NEG-1", suite=NEGOTIATOR)
class AsksTheModelAboutItsRejection(NegotiatorMutation):
    """A moment after a rejection in JSON mode is asked for, a timer sends a request that shows whether it works."""

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection | None:
        def ask() -> None:
            self.task = asyncio.ensure_future(self.transport.complete(_TRIAL))
            self.task.add_done_callback(lambda task: task.cancelled() or task.exception())

        if self.transport is not None:
            asyncio.get_running_loop().call_later(0.01, ask)
        return super().fallback_after_rejection(selection, configured_mode)


# --- NEG-2 ---


@mutant("NEG-2", suite=NEGOTIATOR)
class LeavesTheSchemaOut(FormatMutation):
    """A strict selection names a schema and does not hold it."""

    def described(self, description: dict[str, Any], model: str) -> dict[str, Any]:
        del description["schema"]
        return description


@mutant("NEG-2", suite=NEGOTIATOR)
class LeavesItToTheProviderWhetherToEnforce(FormatMutation):
    """A strict selection does not say that the schema is strict."""

    def described(self, description: dict[str, Any], model: str) -> dict[str, Any]:
        return description | {"strict": False}


@mutant("NEG-2", suite=NEGOTIATOR)
class NamesTheSchemaAfterTheModel(FormatMutation):
    """The schema's name holds the model's, whatever characters that has."""

    def described(self, description: dict[str, Any], model: str) -> dict[str, Any]:
        return description | {"name": f"program_for_{model}"}


@mutant("NEG-2", suite=NEGOTIATOR)
class PublishesItsSchemas(FormatMutation):
    """The schema refers to one on a server."""

    def described(self, description: dict[str, Any], model: str) -> dict[str, Any]:
        properties = description["schema"]["properties"] | {"note": {"$ref": "https://trees.example/note.json"}}
        return description | {"schema": description["schema"] | {"properties": properties}}


@mutant("NEG-2", suite=NEGOTIATOR)
class ShortensASchema(FormatMutation):
    """The schema's definitions are left out, and what refers to them is not."""

    def described(self, description: dict[str, Any], model: str) -> dict[str, Any]:
        return description | {"schema": {"type": "object", "$ref": "#/$defs/program"}}


@mutant("NEG-2", suite=NEGOTIATOR)
class SendsAnEmptySchema(FormatMutation):
    """The schema lets everything through."""

    def described(self, description: dict[str, Any], model: str) -> dict[str, Any]:
        return description | {"schema": {}}


@mutant("NEG-2", suite=NEGOTIATOR)
class NumbersItsSelections(FormatMutation):
    """Each selection of the same output has a name of its own."""

    def described(self, description: dict[str, Any], model: str) -> dict[str, Any]:
        return description | {"name": f"program_{len(self.asked)}"}


@mutant("NEG-2", suite=NEGOTIATOR)
class ChangesWhatItHandedOut(NegotiatorMutation):
    """All selections share one format, which each of them overwrites."""

    def __init__(self) -> None:
        super().__init__()
        self.format: dict[str, Any] = {}

    def selected(self, selection: StructuredOutputSelection, model: str, policy: str) -> StructuredOutputSelection:
        self.format.clear()
        self.format.update(selection.response_format)
        return replace(selection, response_format=self.format)


@mutant("NEG-2", suite=NEGOTIATOR)
class ClosesTheSchemasOfTools(NegotiatorMutation):
    """The schemas of tools are closed in place, so that they can be enforced."""

    def structured_output(self, capabilities: ModelCapabilities, **question: Any) -> StructuredOutputSelection:
        for tool in question["tools"]:
            if tool.input_schema is not None:
                tool.input_schema["additionalProperties"] = False
        return super().structured_output(capabilities, **question)


@mutant("NEG-2", suite=NEGOTIATOR, touches={"NEG-4": "it too asks what is sent under `compatibility`"})
class OverrulesThePolicy(NegotiatorMutation):
    """Strict output is asked for under `compatibility` too, where it is declared."""

    def policy(self, policy: str) -> str:
        return "auto" if policy == "compatibility" else policy


@mutant("NEG-2", suite=NEGOTIATOR, touches={"NEG-4": "what is called strict is offered a fallback"})
class CallsJsonModeStrict(NegotiatorMutation):
    """JSON mode that the policy asks for is called strict."""

    def selected(self, selection: StructuredOutputSelection, model: str, policy: str) -> StructuredOutputSelection:
        return replace(selection, mode="strict") if policy == "compatibility" else selection


STRICT_IS_SENT = "its evaluations look at what is asked for under `auto`"


@mutant("NEG-2", suite=NEGOTIATOR, touches=dict.fromkeys(("NEG-1", "NEG-4", "NEG-5", "NEG-6"), STRICT_IS_SENT))
class NeverTrustsADeclaration(NegotiatorMutation):
    """Under `auto`, JSON mode is asked for whatever is declared."""

    def policy(self, policy: str) -> str:
        return "compatibility" if policy == "auto" else policy


# --- NEG-3 ---


@mutant("NEG-3", suite=NEGOTIATOR, touches={"NEG-6": REQUIRED_OF_THE_SILENT})
class AsksForLessThanIsRequired(NegotiatorMutation):
    """Where strict output is required and missing, JSON mode is asked for."""

    def structured_output(self, capabilities: ModelCapabilities, **question: Any) -> StructuredOutputSelection:
        try:
            return super().structured_output(capabilities, **question)
        except StructuredOutputUnsupportedError:
            return JSON_MODE


@mutant(
    "NEG-3",
    suite=NEGOTIATOR,
    touches={
        "NEG-2": "a strict selection for a model that is not declared to take it",
        "NEG-6": REQUIRED_OF_THE_SILENT,
    },
)
class RequiresItOfTheProvider(NegotiatorMutation):
    """Where strict output is required it is asked for, whatever is declared."""

    def believed(self, capabilities: ModelCapabilities, model: str, policy: str) -> ModelCapabilities:
        return replace_strict(capabilities) if policy == "required" else capabilities


def replace_strict(capabilities: ModelCapabilities) -> ModelCapabilities:
    return ModelCapabilities(True, capabilities.temperature, capabilities.recursive_schemas)


@mutant(
    "NEG-3",
    suite=NEGOTIATOR,
    touches=dict.fromkeys(
        ("NEG-1", "NEG-2", "NEG-4", "NEG-6"), "strict output that is not to be had is required there too"
    ),
)
class RefusesInWordsOfItsOwn(NegotiatorMutation):
    """What is required and missing is refused with a `ValueError`."""

    def structured_output(self, capabilities: ModelCapabilities, **question: Any) -> StructuredOutputSelection:
        try:
            return super().structured_output(capabilities, **question)
        except StructuredOutputUnsupportedError as refusal:
            raise ValueError("strict output is required and not to be had") from refusal


@mutant("NEG-3", suite=NEGOTIATOR, touches={"NEG-6": REQUIRED_OF_THE_SILENT})
class RefusesOnce(NegotiatorMutation):
    """A model that was refused is refused once, and asked for JSON mode from then on."""

    refused = False

    def structured_output(self, capabilities: ModelCapabilities, **question: Any) -> StructuredOutputSelection:
        try:
            return super().structured_output(capabilities, **question)
        except StructuredOutputUnsupportedError:
            if self.refused:
                return JSON_MODE
            self.refused = True
            raise


@mutant("NEG-3", suite=NEGOTIATOR)
class TakesRecursionForStrictOutput(NegotiatorMutation):
    """A model that is declared to take recursive schemas is believed to have strict output, where that is required."""

    def believed(self, capabilities: ModelCapabilities, model: str, policy: str) -> ModelCapabilities:
        if policy == "required" and capabilities.recursive_schemas:
            return replace_strict(capabilities)
        return capabilities
