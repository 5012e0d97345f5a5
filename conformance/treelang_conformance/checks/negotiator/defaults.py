"""NEG-6: what is assumed of a transport that does not say what it can do, and of nobody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treelang import ModelCapabilities, StructuredOutputUnsupportedError
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._evaluation import (
    JSON_MODE,
    PROGRAM,
    evaluate,
    require_ended,
    require_requests,
)
from treelang_conformance.checks.negotiator._negotiation import (
    AUTO,
    REQUIRED,
    Negotiation,
    begin,
    require_refusal,
)
from treelang_conformance.checks.negotiator._transports import (
    CAPABLE,
    MODEL,
    NOTHING,
    OTHER_MODEL,
    DeclaringTransport,
    RecordingTransport,
    capable_transport,
)
from treelang_conformance.examples import for_examples, texts
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

_UNDISCOVERABLE: Mapping[str, Callable[[], RecordingTransport]] = {
    "without-discovery": lambda: RecordingTransport([PROGRAM]),
}

_WELL_KNOWN_MODELS = ("gpt-4o", "gpt-5", "o3-mini", "claude-opus-4-1", "claude-sonnet-4-5", "gemini-2.5-pro")
"""Names that say nothing where the transport says nothing: what serves them is not known."""

_HINT = "Where a transport has no `capabilities`, ModelCapabilities() is all that is known, whatever the model's name."


def _require_nothing(case: NegotiatorCase, capabilities: ModelCapabilities) -> None:
    able = [
        name
        for name in ("strict_json_schema", "temperature", "recursive_schemas")
        if getattr(capabilities, name) is not False
    ]
    case.require(
        not able, expected="the conservative defaults, ModelCapabilities()", happened=f"it assumed {', '.join(able)}"
    )


def _require_declared(case: NegotiatorCase, found: ModelCapabilities, declared: ModelCapabilities) -> None:
    case.require(
        (found.strict_json_schema, found.temperature) == (declared.strict_json_schema, declared.temperature)
        and found.recursive_schemas <= declared.recursive_schemas,
        expected=f"what the transport declares of the model, {declared}",
        happened=f"it said {found}",
    )


@check("NEG-6", suite=SuiteName.NEGOTIATOR, over=_UNDISCOVERABLE, hint=_HINT)
async def what_is_not_declared_is_not_assumed(case: NegotiatorCase, make: Callable[[], RecordingTransport]) -> None:
    """A transport that declares nothing can do nothing, with whatever model and however often it is asked about."""
    transport = make()
    negotiation = await begin(case)
    for model in (MODEL, "", *_WELL_KNOWN_MODELS, MODEL):
        with about(f"the model {model!r}"):
            _require_nothing(case, negotiation.capabilities(transport, model))


@check("NEG-6", suite=SuiteName.NEGOTIATOR, over=_UNDISCOVERABLE, hint=_HINT)
async def the_defaults_lead_to_json_mode_or_a_refusal(
    case: NegotiatorCase, make: Callable[[], RecordingTransport]
) -> None:
    """A transport that declares nothing is asked for JSON mode under `auto`, and refused where more is required."""
    negotiation = await begin(case)
    for model in (MODEL, *_WELL_KNOWN_MODELS):
        with about(f"the model {model!r}"):
            capabilities = negotiation.capabilities(make(), model)
            mode = negotiation.select(capabilities, AUTO, model=model).mode
            case.require(mode == "compatibility", expected="JSON mode", happened=f"the selection's mode is {mode!r}")
            require_refusal(case, negotiation.ask(capabilities, REQUIRED, model=model))


@check("NEG-6", suite=SuiteName.NEGOTIATOR, over=_UNDISCOVERABLE, hint="Remember nothing by the model's name alone.")
async def a_capable_transport_says_nothing_of_another(
    case: NegotiatorCase, make: Callable[[], RecordingTransport]
) -> None:
    """With the same model, a transport that declares nothing gets the defaults, and a capable one what it declares."""
    capable, other = capable_transport(), make()
    for order in ((capable, other), (other, capable)):
        negotiation = await begin(case)
        for transport in (*order, *order):
            capabilities = negotiation.capabilities(transport)
            if transport is capable:
                _require_declared(case, capabilities, CAPABLE)
                negotiation.select_strict(AUTO, capabilities)
            else:
                _require_nothing(case, capabilities)
                require_refusal(case, negotiation.ask(capabilities, REQUIRED))


_DECLARED: Mapping[str, ModelCapabilities] = {
    "everything": CAPABLE,
    "strict-output": ModelCapabilities(strict_json_schema=True),
    "temperature": ModelCapabilities(temperature=True),
    "nothing": NOTHING,
}


@check("NEG-6", suite=SuiteName.NEGOTIATOR, over=_DECLARED, hint="The defaults are for those that declare nothing.")
async def what_is_declared_is_kept(case: NegotiatorCase, declared: ModelCapabilities) -> None:
    """A transport that declares what a model can do gets just that, before and after it was asked about another."""
    transport = DeclaringTransport({MODEL: declared})
    negotiation = await begin(case)
    for model, expected in ((MODEL, declared), (OTHER_MODEL, NOTHING), (MODEL, declared)):
        with about(f"the model {model!r}"):
            _require_declared(case, negotiation.capabilities(transport, model), expected)


@check("NEG-6", suite=SuiteName.NEGOTIATOR, hint="Ask about the model in question: one says nothing of another.")
async def any_two_models_have_their_own(case: NegotiatorCase) -> None:
    """Whatever two models and their transports are called, neither gets what is declared of the other."""
    negotiation = await begin(case)
    kept = []  # so that none takes the place in memory of one that is gone, which would be found by chance alone

    async def judge(name: str) -> None:
        like = f"{name}-2"
        capable, silent = DeclaringTransport({name: CAPABLE}), RecordingTransport()
        kept.append((capable, silent))
        for _ in range(2):
            _require_declared(case, negotiation.capabilities(capable, name), CAPABLE)
            _require_nothing(case, negotiation.capabilities(capable, like))
            for model in (name, like):
                _require_nothing(case, negotiation.capabilities(silent, model))

    await for_examples(case, texts(most=12), judge, at_most=20)


@check("NEG-6", suite=SuiteName.NEGOTIATOR, over=_UNDISCOVERABLE, hint=_HINT)
async def an_evaluation_without_discovery_is_in_json_mode(
    case: NegotiatorCase, make: Callable[[], RecordingTransport]
) -> None:
    """Under the reference arborist, a transport that declares nothing gets one request in JSON mode, or none."""
    negotiation: Negotiation = await begin(case)
    transport = make()
    require_ended(case, await evaluate(negotiation, transport, AUTO), None)
    require_requests(case, transport, JSON_MODE)
    require_ended(case, await evaluate(negotiation, transport, REQUIRED), StructuredOutputUnsupportedError)
    require_requests(case, transport)
