"""Questions to the negotiator under test: what it does beyond answering them is a violation that says where."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypeVar

from treelang import (
    ModelCapabilities,
    ModelCapabilityNegotiator,
    ModelTransport,
    StructuredOutputSelection,
    StructuredOutputUnsupportedError,
    ToolDefinition,
)
from treelang_conformance.cases.negotiator import NegotiatorCase
from treelang_conformance.checks.negotiator._transports import CAPABLE, MODEL
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.violation import Violation
from treelang_conformance.waiting import raised_in

T = TypeVar("T")

_PLAIN = "The methods of a negotiator are plain functions, and not `async def`: they decide, and ask nobody."

AUTO, REQUIRED, COMPATIBILITY = "auto", "required", "compatibility"
POLICIES = (AUTO, REQUIRED, COMPATIBILITY)
VERSIONS = ("1.0", "2.0")

TOOL = ToolDefinition.of(
    {"name": "measure", "description": "The height of a tree.", "properties": {"tree": {"type": "string"}}}
)
"""A tool that every way to describe programs has room for."""

Answer: TypeAlias = StructuredOutputSelection | StructuredOutputUnsupportedError
"""What may come of asking for a selection: one, or the refusal of what is required."""


@dataclass(frozen=True, slots=True)
class Negotiation:
    """A negotiator of the subject, and the three questions.

    Attributes:
        case: The check that asks.
        negotiator: Who is asked.
    """

    case: NegotiatorCase
    negotiator: ModelCapabilityNegotiator

    def capabilities(self, transport: ModelTransport, model: str = MODEL) -> ModelCapabilities:
        """What the transport is said to be able to do with a model."""
        question = f"capabilities(..., {shortened(model, 80)})"
        found = self._asked(question, lambda: self.negotiator.capabilities(transport, model))
        self._require_type(question, found, ModelCapabilities)
        return found

    def ask(
        self,
        capabilities: ModelCapabilities,
        policy: str,
        *,
        model: str = MODEL,
        version: str = "2.0",
        tools: Sequence[ToolDefinition] | None = None,
    ) -> Answer:
        """What is selected under a policy (the configured mode), or its refusal.

        Args:
            capabilities: What the model can do.
            policy: The configured mode.
            model: The model's name.
            version: The program format.
            tools: What programs may call; by default a copy of the one tool, for a negotiator may spoil it.
        """
        if tools is None:
            tools = (copy.deepcopy(TOOL),)
        question = _question(policy, capabilities)
        try:
            selection = self.negotiator.structured_output(
                capabilities, model=model, configured_mode=policy, schema_version=version, tools=tools
            )
        except StructuredOutputUnsupportedError as refusal:
            return refusal
        except (Exception, asyncio.CancelledError) as error:
            _raised(question, error)
        self._require_type(question, selection, StructuredOutputSelection)
        return selection

    def select(self, capabilities: ModelCapabilities, policy: str, **details: Any) -> StructuredOutputSelection:
        """What is selected; a refusal is a violation. The details are those of `ask`."""
        answer = self.ask(capabilities, policy, **details)
        if isinstance(answer, StructuredOutputSelection):
            return answer
        raise Violation(
            expected=f"a selection from {_question(policy, capabilities)}",
            happened="it raised StructuredOutputUnsupportedError",
        ) from answer

    def select_strict(
        self, policy: str = AUTO, capabilities: ModelCapabilities = CAPABLE, **details: Any
    ) -> StructuredOutputSelection:
        """The strict selection for a model that can do everything; another one is a violation. Details as of `ask`."""
        selection = self.select(capabilities, policy, **details)
        self.case.require(
            selection.mode == "strict",
            expected=f"strict output from {_question(policy, capabilities)}",
            happened=f"the selection's mode is {selection.mode!r}",
            hint="Without a strict selection nothing else can be judged: ask for strict output where it is declared"
            " (NEG-2/what-is-declared-is-used), and then look at this clause.",
        )
        return selection

    def fall_back(self, selection: StructuredOutputSelection, policy: str) -> StructuredOutputSelection | None:
        """What is granted after a rejection of `selection`; `None` for a refusal, in either form that it may have."""
        question = f"fallback_after_rejection(<{selection.mode}>, {policy!r})"
        try:
            fallback = self.negotiator.fallback_after_rejection(selection, policy)
        except StructuredOutputUnsupportedError:
            return None
        except (Exception, asyncio.CancelledError) as error:
            _raised(question, error)
        if fallback is not None:
            self._require_type(question, fallback, StructuredOutputSelection)
        return fallback

    def _asked(self, question: str, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except (Exception, asyncio.CancelledError) as error:
            _raised(question, error)

    def _require_type(self, question: str, answer: object, kind: type[object]) -> None:
        if inspect.iscoroutine(answer):
            answer.close()
            raise Violation(
                expected=f"{question} to return a {kind.__name__}", happened="it is to be awaited", hint=_PLAIN
            )
        self.case.require(
            isinstance(answer, kind),
            expected=f"{question} to return a {kind.__name__}",
            happened=f"it returned a {type(answer).__name__}: {shortened(answer)}",
        )


async def begin(case: NegotiatorCase, *, fresh: bool = True) -> Negotiation:
    """A negotiation with a negotiator that remembers nothing, or with the one of this check so far."""
    return Negotiation(case, await case.negotiator(fresh=fresh))


def require_refusal(case: NegotiatorCase, answer: Answer) -> None:
    """Require that a required capability which is missing was refused."""
    case.require(
        not isinstance(answer, StructuredOutputSelection),
        expected="StructuredOutputUnsupportedError, since strict output is required and the model cannot be had to it",
        happened=f"it selected {shortened(answer)}",
    )


def require_final(case: NegotiatorCase, fallback: StructuredOutputSelection | None) -> None:
    """Require that no fallback was granted."""
    case.require(fallback is None, expected="no fallback (None)", happened=f"it granted {shortened(fallback)}")


def _question(policy: str, capabilities: ModelCapabilities) -> str:
    able = "can" if capabilities.strict_json_schema else "cannot"
    return f"structured_output() under {policy!r} for a model that {able} do strict output"


def _raised(question: str, error: BaseException) -> NoReturn:
    place = raised_in(error)
    raise Violation(
        expected=f"{question} to return", happened=f"it raised {type_name(error)}{f' at {place}' if place else ''}"
    ) from error
