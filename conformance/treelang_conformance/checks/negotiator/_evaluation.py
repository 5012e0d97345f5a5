"""Evaluations of the reference arborist with the negotiator under test: what is sent, and how they end."""

from __future__ import annotations

import asyncio
from typing import Any

from treelang import (
    Arborist,
    ArboristConfig,
    EvalType,
    ToolDefinition,
    ToolOutput,
    ToolProvider,
)
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._negotiation import TOOL, Negotiation
from treelang_conformance.checks.negotiator._transports import MODEL, RecordingTransport
from treelang_conformance.outcome import type_name

PROGRAM = '{"type": "program", "schema_version": "2.0", "body": [{"type": "literal", "value": 115.9}]}'
"""An answer that ends an evaluation well."""

NO_PROGRAM = '{"type": "poem"}'
"""An answer after which a validation retry may follow."""

_DOWNGRADED = (
    "Strict output was not asked for where it is declared and allowed (NEG-2/what-is-declared-is-used), so nothing else"
    " can be judged here: mend that first."
)

STRICT, JSON_MODE = "json_schema", "json_object"


class _OneTool(ToolProvider):
    """A provider of the one tool, which no program here calls."""

    async def list_tools(self) -> list[ToolDefinition]:
        return [TOOL]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        return ToolOutput(content=None)


async def evaluate(
    negotiation: Negotiation, transport: RecordingTransport, policy: str, *, retries: int = 0
) -> BaseException | None:
    """Evaluate a question, without running the program, and return what was raised.

    Args:
        negotiation: Whose negotiator decides.
        transport: Who answers.
        policy: The configured mode.
        retries: How often the model is asked again after an answer that is no valid program.
    """
    config = ArboristConfig(
        MODEL,
        schema_version="2.0",
        structured_output_mode=policy,  # type: ignore[arg-type]  # one of POLICIES
        validation_retries=retries,
    )
    arborist = Arborist(
        MODEL, _OneTool(), config=config, transport=transport, capability_negotiator=negotiation.negotiator
    )
    error: BaseException | None = None
    with negotiation.case.bounded("the evaluation"):
        try:
            await arborist.eval("How high is the tallest tree?", EvalType.TREE)
        except (Exception, asyncio.CancelledError) as raised:
            error = raised
    return error


def require_requests(case: NegotiatorCase, transport: RecordingTransport, *expected: str) -> None:
    """Require what the transport was asked for, request by request, since it was asked about last."""
    requests, transport.requests = transport.requests, []
    case.require(
        requests == list(expected),
        expected=f"the requests {', '.join(expected)}" if expected else "no request",
        happened=f"the transport was sent {', '.join(requests) or 'none'}",
        hint=_DOWNGRADED if STRICT in expected and STRICT not in requests and requests else "",
    )


def require_ended(case: NegotiatorCase, error: BaseException | None, expected: type[BaseException] | None) -> None:
    """Require how an evaluation ended: well for `None`, or by an error of that type."""
    fits = error is None if expected is None else isinstance(error, expected)
    case.require(
        fits,
        expected="a valid program" if expected is None else f"the evaluation to raise {expected.__name__}",
        happened="it ended well" if error is None else f"it raised {type_name(error)}: {error}",
    )
