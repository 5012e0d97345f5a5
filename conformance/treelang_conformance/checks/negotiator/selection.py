"""NEG-2: whatever is asked for, a selection can be sent as it is, and its mode says what it is."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence

from treelang import ModelCapabilities, StructuredOutputSelection, ToolDefinition
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._completeness import require_complete
from treelang_conformance.checks.negotiator._negotiation import (
    AUTO,
    COMPATIBILITY,
    POLICIES,
    REQUIRED,
    TOOL,
    VERSIONS,
    Negotiation,
    begin,
)
from treelang_conformance.checks.negotiator._tools import SIMPLE, TOOL_SETS
from treelang_conformance.checks.negotiator._transports import CAPABLE, MODEL, NOTHING
from treelang_conformance.examples import for_examples, texts
from treelang_conformance.outcome import shortened
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

_CAPABILITIES: Mapping[str, ModelCapabilities] = {
    "nothing": NOTHING,
    "temperature": ModelCapabilities(temperature=True),
    "strict-output": ModelCapabilities(strict_json_schema=True),
    "everything": CAPABLE,
}


_HINT = (
    "A response format is sent as it is: {'type': 'json_object'}, or {'type': 'json_schema', 'json_schema': "
    "{'name', 'strict': True, 'schema'}} with a name that providers take."
)


@check("NEG-2", suite=SuiteName.NEGOTIATOR, over=TOOL_SETS, hint=_HINT)
async def a_selection_can_be_sent_as_it_is(case: NegotiatorCase, tools: Sequence[ToolDefinition]) -> None:
    """Every selection, and the fallback that is granted for it, has a mode and a complete format to match."""
    tools = copy.deepcopy(tools)  # which a negotiator may spoil
    for policy, version, (name, capabilities) in itertools.product(POLICIES, VERSIONS, _CAPABILITIES.items()):
        negotiation = await begin(case)
        with about(f"the policy {policy!r}, the format {version} and the capabilities {name!r}"):
            answer = negotiation.ask(capabilities, policy, version=version, tools=tools)
            if not isinstance(answer, StructuredOutputSelection):
                case.require(policy == REQUIRED, expected="a selection", happened="a capability was required by nobody")
                continue
            require_complete(case, answer)
            _require_mode(case, answer, policy, capabilities)
            fallback = negotiation.fall_back(answer, policy)
            if fallback is not None:
                require_complete(case, fallback)


def _require_mode(
    case: NegotiatorCase, selection: StructuredOutputSelection, policy: str, capabilities: ModelCapabilities
) -> None:
    """Strict output may be impossible for some tools; what is not declared or not allowed is never asked for."""
    if policy == COMPATIBILITY or not capabilities.strict_json_schema:
        case.require(
            selection.mode == "compatibility",
            expected="JSON mode, since strict output is not " + ("wanted" if policy == COMPATIBILITY else "declared"),
            happened=f"the selection's mode is {selection.mode!r}",
        )


@check(
    "NEG-2",
    suite=SuiteName.NEGOTIATOR,
    over={"one-tool": (TOOL,), "several-tools": SIMPLE},
    hint="Under `auto` output is enforced wherever the transport declares that it can be.",
)
async def what_is_declared_is_used(case: NegotiatorCase, tools: Sequence[ToolDefinition]) -> None:
    """A model that is declared to do everything is asked for strict output under `auto`, in either format."""
    negotiation = await begin(case)
    for version in VERSIONS:
        selection = negotiation.select(CAPABLE, AUTO, version=version, tools=copy.deepcopy(tools))
        case.require(
            selection.mode == "strict",
            expected=f"strict output for programs of the format {version}",
            happened=f"the selection's mode is {selection.mode!r}",
        )


@check("NEG-2", suite=SuiteName.NEGOTIATOR, hint="A negotiator that has learnt nothing new has no reason to differ.")
async def the_same_question_has_the_same_answer(case: NegotiatorCase) -> None:
    """Asked again without a rejection in between, a negotiator selects the same mode and the same format."""
    for capabilities, policy in itertools.product(_CAPABILITIES.values(), (AUTO, COMPATIBILITY)):
        negotiation = await begin(case)
        first, *others = (negotiation.select(capabilities, policy) for _ in range(4))
        for other in others:
            case.require(
                (other.mode, other.response_format) == (first.mode, first.response_format),
                expected=f"{shortened(first)} again",
                happened=f"it selected {shortened(other)}",
            )


@check(
    "NEG-2",
    suite=SuiteName.NEGOTIATOR,
    hint="What is remembered of a selection belongs to all that it was asked for: the model, the format and the tools.",
)
async def earlier_questions_do_not_colour_a_selection(case: NegotiatorCase) -> None:
    """A negotiator that has answered other questions selects what one that has answered none selects."""
    experienced = await begin(case)
    for version, tools in itertools.product(
        VERSIONS, (SIMPLE, (TOOL,), TOOL_SETS["no-tool"], TOOL_SETS["a-nested-schema"])
    ):
        for policy in (AUTO, COMPATIBILITY):
            fresh = (await begin(case)).select(CAPABLE, policy, version=version, tools=copy.deepcopy(tools))
            selection = experienced.select(CAPABLE, policy, version=version, tools=copy.deepcopy(tools))
            case.require(
                (selection.mode, selection.response_format) == (fresh.mode, fresh.response_format),
                expected=f"{shortened(fresh)}, as of a negotiator that was asked nothing else",
                happened=f"it selected {shortened(selection)}",
            )


@check("NEG-2", suite=SuiteName.NEGOTIATOR, hint="Build each format anew, or never change one that was handed out.")
async def a_selection_stays_as_it_was(case: NegotiatorCase) -> None:
    """What was selected is not changed by later questions, nor by the fallback that is granted for it."""
    negotiation = await begin(case)
    kept: list[tuple[StructuredOutputSelection, str]] = []
    for policy, tools in itertools.product((AUTO, COMPATIBILITY), (TOOL_SETS["no-tool"], (TOOL,), SIMPLE)):
        selection = negotiation.select(CAPABLE, policy, tools=copy.deepcopy(tools))
        kept.append((selection, repr(selection)))
        negotiation.fall_back(selection, policy)
    for selection, was in kept:
        case.require(
            repr(selection) == was,
            expected=f"the selection to remain {was[:200]}",
            happened=f"it has become {shortened(selection)}",
        )


@check("NEG-2", suite=SuiteName.NEGOTIATOR, over=TOOL_SETS, hint="Copy a schema before anything is changed in it.")
async def what_is_given_is_not_changed(case: NegotiatorCase, tools: Sequence[ToolDefinition]) -> None:
    """Neither the tools nor their schemas are changed by a selection."""
    negotiation = await begin(case)
    given = copy.deepcopy(tools)
    for policy, version in itertools.product(POLICIES, VERSIONS):
        negotiation.ask(CAPABLE, policy, version=version, tools=given)
    case.require(
        repr(given) == repr(tools),
        expected=f"the tools {shortened(tools)}",
        happened=f"they are {shortened(given)} now",
    )


@check("NEG-2", suite=SuiteName.NEGOTIATOR, hint="The name of a model has no place in a format.")
async def a_selection_is_complete_for_any_model(case: NegotiatorCase) -> None:
    """Whatever a model is called, what is selected for it is complete, and strict where that is declared."""
    negotiation = await begin(case)

    async def judge(name: str) -> None:
        for model, policy in itertools.product((name, f"{MODEL}/{name}", name * 30), (AUTO, COMPATIBILITY)):
            _require_complete_for(case, negotiation, model, policy)

    await for_examples(case, texts(most=8), judge, at_most=15)


def _require_complete_for(case: NegotiatorCase, negotiation: Negotiation, model: str, policy: str) -> None:
    selection = negotiation.select(CAPABLE, policy, model=model)
    require_complete(case, selection)
    mode = "compatibility" if policy == COMPATIBILITY else "strict"
    case.require(
        selection.mode == mode, expected=f"the mode {mode!r}", happened=f"the selection's mode is {selection.mode!r}"
    )
