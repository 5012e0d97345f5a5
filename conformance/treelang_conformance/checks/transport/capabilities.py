"""CAP-1 to CAP-3: what a transport declares about models, and that it is true."""

from __future__ import annotations

import asyncio

from treelang import CapabilityAwareTransport, ModelCapabilities, ModelTransport
from treelang_conformance.cases.transport import Case
from treelang_conformance.neutral import Answer
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.registry import BOTH, check

_REQUIRED = ("capabilities",)

_NAMES = (
    "",
    " ",
    "unheard-of-model",
    "Unheard-Of/Model:v1.5@latest",
    "\u6a21\u578b-\U0001f332",
    "model\x00with\nbreaks",
    "\ud800",
    "(?:unclosed [pattern",
    "%s {0} ${model}",
    "../../etc/models",
    "0",
    "None",
    "m" * 100_000,
)
"""Names that no provider has, among them what a look-up by pattern, path or format would stumble over."""


def declared_capabilities(case: Case, transport: ModelTransport, model: str) -> ModelCapabilities:
    """What the transport declares for a model; anything but a `ModelCapabilities` is a violation."""
    assert isinstance(transport, CapabilityAwareTransport)  # noqa: S101  # the check requires the feature
    try:
        declared = transport.capabilities(model)
    except Exception as error:
        case.require(
            False,
            expected=f"capabilities({shortened(model)}) to return",
            happened=f"it raised {type_name(error)}",
        )
        raise
    case.require(
        isinstance(declared, ModelCapabilities),
        expected=f"capabilities({shortened(model)}) to return a ModelCapabilities",
        happened=f"it returned a {type(declared).__name__}",
    )
    return declared


@check(
    "CAP-1",
    requires=_REQUIRED,
    hint="Decide by a table in memory, with a default for every name that is not in it.",
)
async def any_model_has_capabilities(case: Case) -> None:
    """`capabilities(model)` returns `ModelCapabilities` for any string, twice the same, without asking anybody."""
    transport = await case.transport()
    for model in (case.wire.model, *_NAMES):
        first, again = (declared_capabilities(case, transport, model) for _ in range(2))
        case.require(
            first == again,
            expected=f"capabilities({shortened(model)}) to be the same each time",
            happened=f"it was {first} and then {again}",
        )
    await asyncio.sleep(0)
    opened = len(case.provider.connections)
    case.require(opened == 0, expected="no I/O", happened=f"the provider saw {opened} connection(s)")


@check("CAP-1", requires=_REQUIRED, hint="Nothing that was learned from a call may change what is declared.")
async def calls_do_not_change_capabilities(case: Case) -> None:
    """What is declared for a model is the same before and after a call, and on another transport."""
    transport, model = await case.transport(), case.wire.model
    before = declared_capabilities(case, transport, model)
    case.answers(Answer.of("A redwood."))
    await case.call()
    for later in (transport, await case.transport(fresh=True)):
        after = declared_capabilities(case, later, model)
        case.require(after == before, expected=f"{before} again", happened=f"capabilities({model!r}) gave {after}")


@check(
    "CAP-2",
    requires=_REQUIRED,
    hint="Match whole names or families that you know; a default of True sends requests that are rejected.",
)
async def an_unknown_model_can_nothing(case: Case) -> None:
    """A model that the transport does not know has no capability."""
    transport = await case.transport()
    known = case.wire.model
    for model in (*_NAMES, known[::-1], f"x{known}", f"un-{known}"):
        declared = declared_capabilities(case, transport, model)
        case.require(
            declared == ModelCapabilities(),
            expected=f"no capability for the unknown model {shortened(model)}",
            happened=f"capabilities() gave {declared}",
        )


@check(
    "CAP-3",
    modes=BOTH,
    requires=_REQUIRED,
    hint="Declare temperature only for models to which you send it, and send it wherever you declare it.",
)
async def declared_temperature_is_sent(case: Case) -> None:
    """Where temperature is declared for the model, it is on the wire."""
    transport = await case.transport()
    if not declared_capabilities(case, transport, case.wire.model).temperature:
        case.not_applicable(f"temperature is not declared for {case.wire.model}")
    case.answers(Answer.of("A redwood."))
    case.require_text(await case.call(case.request(temperature=0.3)), "A redwood.")
    sent = case.read().temperature
    case.require(sent == 0.3, expected="temperature 0.3 on the wire", happened=f"it carried {sent!r}")


@check(
    "CAP-3",
    modes=BOTH,
    requires=_REQUIRED,
    hint="Declare strict output only where the schema is sent as one that the provider enforces.",
)
async def declared_strict_output_is_sent(case: Case) -> None:
    """Where strict output is declared for the model, the schema is on the wire as strict."""
    transport = await case.transport()
    if not declared_capabilities(case, transport, case.wire.model).strict_json_schema:
        case.not_applicable(f"strict output is not declared for {case.wire.model}")
    case.answers(Answer.of("{}"))
    case.require_text(await case.call(case.strict_request()), "{}")
    output = case.read().output
    case.require(output == "strict", expected="strict output on the wire", happened=f"it carried {output!r} output")
