"""NEG-3: strict output that is required and missing is refused before anything is sent."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping, Sequence

from treelang import ModelCapabilities, StructuredOutputSelection, StructuredOutputUnsupportedError, ToolDefinition
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._evaluation import (
    PROGRAM,
    STRICT,
    evaluate,
    require_ended,
    require_requests,
)
from treelang_conformance.checks.negotiator._negotiation import (
    REQUIRED,
    VERSIONS,
    begin,
    require_refusal,
)
from treelang_conformance.checks.negotiator._tools import TOOL_SETS
from treelang_conformance.checks.negotiator._transports import (
    CAPABLE,
    MODEL,
    NOTHING,
    OTHER_MODEL,
    DeclaringTransport,
    RecordingTransport,
    capable_transport,
)
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

_HINT = "Under `required`, raise StructuredOutputUnsupportedError where the capability is missing: never ask for less."

_INCAPABLE: Mapping[str, Callable[[], RecordingTransport]] = {
    "without-discovery": lambda: RecordingTransport([PROGRAM]),
    "declared-to-do-nothing": lambda: DeclaringTransport({MODEL: NOTHING}, [PROGRAM]),
    "declared-to-take-a-temperature": lambda: DeclaringTransport(
        {MODEL: ModelCapabilities(temperature=True)}, [PROGRAM]
    ),
    "declared-without-strict-output": lambda: DeclaringTransport(
        {MODEL: ModelCapabilities(temperature=True, recursive_schemas=True)}, [PROGRAM]
    ),
    "capable-of-it-with-another-model": lambda: DeclaringTransport({OTHER_MODEL: CAPABLE}, [PROGRAM]),
}


@check("NEG-3", suite=SuiteName.NEGOTIATOR, over=_INCAPABLE, hint=_HINT)
async def a_missing_capability_is_refused(case: NegotiatorCase, make: Callable[[], RecordingTransport]) -> None:
    """Where strict output is required and not declared, selecting raises `StructuredOutputUnsupportedError`."""
    transport = make()
    negotiation = await begin(case)
    for version, tools in itertools.product(VERSIONS, ((), None)):
        with about(f"programs of the format {version} and {'one tool' if tools is None else 'no tool'}"):
            capabilities = negotiation.capabilities(transport)
            require_refusal(case, negotiation.ask(capabilities, REQUIRED, version=version, tools=tools))
    require_requests(case, transport)


@check("NEG-3", suite=SuiteName.NEGOTIATOR, over=_INCAPABLE, hint=_HINT)
async def a_missing_capability_is_refused_again_and_again(
    case: NegotiatorCase, make: Callable[[], RecordingTransport]
) -> None:
    """A refusal does not depend on what was asked before: on earlier refusals, or on a model that can do it."""
    incapable, capable = make(), capable_transport()
    negotiation = await begin(case)
    for _ in range(3):
        require_refusal(case, negotiation.ask(negotiation.capabilities(incapable), REQUIRED))
        negotiation.select_strict(REQUIRED, negotiation.capabilities(capable))


@check("NEG-3", suite=SuiteName.NEGOTIATOR, hint="Decide by the capabilities that are passed, not by those seen last.")
async def the_capabilities_that_are_passed_decide(case: NegotiatorCase) -> None:
    """Capabilities that came from no transport decide as well, for whichever model."""
    negotiation = await begin(case)
    for model in (MODEL, OTHER_MODEL):
        for capabilities in (NOTHING, ModelCapabilities(temperature=True, recursive_schemas=True)):
            require_refusal(case, negotiation.ask(capabilities, REQUIRED, model=model))


@check("NEG-3", suite=SuiteName.NEGOTIATOR, hint="A refusal is for what is missing: what is declared is to be used.")
async def a_capability_that_is_there_is_used(case: NegotiatorCase) -> None:
    """Where strict output is required and declared, it is selected, in either format."""
    negotiation = await begin(case)
    capabilities = negotiation.capabilities(capable_transport())
    for version in VERSIONS:
        selection = negotiation.select(capabilities, REQUIRED, version=version)
        case.require(
            selection.mode == "strict",
            expected=f"strict output for programs of the format {version}",
            happened=f"the selection's mode is {selection.mode!r}",
        )


@check("NEG-3", suite=SuiteName.NEGOTIATOR, over=TOOL_SETS, hint=_HINT)
async def what_is_required_is_strict_or_refused(case: NegotiatorCase, tools: Sequence[ToolDefinition]) -> None:
    """Under `required` a selection is strict whatever the tools, and also after a rejection; else it is refused."""
    negotiation = await begin(case)
    capabilities = negotiation.capabilities(capable_transport())
    for version in VERSIONS * 2:
        answer = negotiation.ask(capabilities, REQUIRED, version=version, tools=copy.deepcopy(tools))
        if isinstance(answer, StructuredOutputSelection):
            case.require(
                answer.mode == "strict",
                expected="strict output, or its refusal",
                happened=f"the selection's mode is {answer.mode!r}",
            )
            negotiation.fall_back(answer, REQUIRED)  # whatever it learns of the rejection, less is never selected


@check("NEG-3", suite=SuiteName.NEGOTIATOR, over=_INCAPABLE, hint=_HINT)
async def an_evaluation_is_refused_without_a_request(
    case: NegotiatorCase, make: Callable[[], RecordingTransport]
) -> None:
    """Under the reference arborist, the refusal comes before anything is sent, and again the next time."""
    transport = make()
    negotiation = await begin(case)
    for _ in range(2):
        require_ended(case, await evaluate(negotiation, transport, REQUIRED), StructuredOutputUnsupportedError)
        require_requests(case, transport)
    capable = capable_transport(PROGRAM)
    require_ended(case, await evaluate(negotiation, capable, REQUIRED), None)
    require_requests(case, capable, STRICT)
