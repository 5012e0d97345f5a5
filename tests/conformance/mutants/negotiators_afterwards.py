"""Mutants of NEG-4 to NEG-6: the default negotiator with one thing broken in fallbacks, discovery or defaults."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from tests.conformance.mutants.mutation import mutant
from tests.conformance.mutants.negotiators import (
    JSON_MODE,
    NEGOTIATOR,
    REQUIRED_OF_THE_SILENT,
    STRICT_IS_SENT,
    NegotiatorMutation,
)
from treelang import (
    ModelCapabilities,
    ModelTransport,
    StructuredOutputSelection,
    StructuredOutputUnsupportedError,
)

# --- NEG-4 ---


class FallbackMutation(NegotiatorMutation):
    """A negotiator that may grant something else than what is right."""

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        raise NotImplementedError

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection | None:
        return self.granted(super().fallback_after_rejection(selection, configured_mode), selection, configured_mode)


@mutant("NEG-4", suite=NEGOTIATOR)
class FallsBackWhereItIsRequired(FallbackMutation):
    """A rejection leads to JSON mode where strict output is required."""

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        return JSON_MODE if rejected.mode == "strict" and policy == "required" else right


@mutant("NEG-4", suite=NEGOTIATOR)
class FallsBackUnderCompatibility(FallbackMutation):
    """A rejected strict selection leads to JSON mode also where the policy has become `compatibility`."""

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        return JSON_MODE if rejected.mode == "strict" and policy == "compatibility" else right


@mutant("NEG-4", suite=NEGOTIATOR)
class FallsBackFromJsonMode(FallbackMutation):
    """Under `auto`, a rejection of JSON mode leads to JSON mode again."""

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        return JSON_MODE if policy == "auto" else right


@mutant("NEG-4", suite=NEGOTIATOR)
class FallsBackToAnotherSchema(FallbackMutation):
    """A rejection leads to a simpler schema, which is strict too."""

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        if right is None:
            return None
        description = rejected.response_format["json_schema"] | {"schema": {"type": "object"}}
        return StructuredOutputSelection({"type": "json_schema", "json_schema": description}, "strict")


@mutant("NEG-4", suite=NEGOTIATOR)
class NeverFallsBack(FallbackMutation):
    """A rejection is final under `auto` too."""

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        return None


@mutant("NEG-4", suite=NEGOTIATOR)
class GrantsItsOwnFallbackAgain(FallbackMutation):
    """A rejection of what was granted leads to the same once more."""

    last: StructuredOutputSelection | None = None

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        if rejected is self.last:
            return rejected
        self.last = right
        return right


@mutant("NEG-4", suite=NEGOTIATOR)
class ForgetsThePolicyAfterARejection(FallbackMutation):
    """Once it has granted a fallback, a negotiator grants it to everybody whose strict output is rejected."""

    has_granted = False

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        if rejected.mode != "strict":
            return right
        self.has_granted = self.has_granted or right is not None
        return JSON_MODE if self.has_granted else right


@mutant("NEG-4", suite=NEGOTIATOR, touches={"NEG-2": "what is granted has to be complete"})
class GrantsHalfASelection(FallbackMutation):
    """What is granted after a rejection has the mode of JSON, and the format that was rejected."""

    def granted(
        self, right: StructuredOutputSelection | None, rejected: StructuredOutputSelection, policy: str
    ) -> StructuredOutputSelection | None:
        return right and replace(right, response_format=rejected.response_format)


# --- NEG-5 ---


class DiscoveryMutation(NegotiatorMutation):
    """A negotiator that does something else than to let a failure of discovery pass."""

    def answered(self, failure: BaseException) -> ModelCapabilities:
        """The answer in the place of a failure, which may also be raised."""
        raise NotImplementedError

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        try:
            return super().capabilities(transport, model)
        except BaseException as failure:
            return self.answered(failure)


@mutant("NEG-5", suite=NEGOTIATOR)
class TakesAFailureForIncapability(DiscoveryMutation):
    """A transport whose discovery fails is taken for one that declares nothing."""

    def answered(self, failure: BaseException) -> ModelCapabilities:
        if isinstance(failure, Exception):
            return ModelCapabilities()
        raise failure


@mutant("NEG-5", suite=NEGOTIATOR)
class TakesATimeoutForIncapability(DiscoveryMutation):
    """A transport whose discovery takes too long is taken for one that declares nothing."""

    def answered(self, failure: BaseException) -> ModelCapabilities:
        if isinstance(failure, TimeoutError):
            return ModelCapabilities()
        raise failure


@mutant("NEG-5", suite=NEGOTIATOR)
class SwallowsACancellation(DiscoveryMutation):
    """A cancelled discovery comes to the defaults."""

    def answered(self, failure: BaseException) -> ModelCapabilities:
        if isinstance(failure, asyncio.CancelledError):
            return ModelCapabilities()
        raise failure


@mutant("NEG-5", suite=NEGOTIATOR)
class TakesAFailureForARejection(DiscoveryMutation):
    """A failing discovery is raised as a rejection of strict output."""

    def answered(self, failure: BaseException) -> ModelCapabilities:
        raise StructuredOutputUnsupportedError("capabilities could not be discovered") from failure


@mutant("NEG-5", suite=NEGOTIATOR)
class RemembersAFailedDiscovery(NegotiatorMutation):
    """A failure of discovery passes, and from then on the transport is taken for one that declares nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: list[ModelTransport] = []

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        try:
            found = super().capabilities(transport, model)
        except BaseException:
            self.failed.append(transport)
            raise
        return ModelCapabilities() if any(transport is one for one in self.failed) else found


@mutant("NEG-5", suite=NEGOTIATOR, touches={"NEG-6": "its transports are discovered again and again"})
class TakesTheNextEvaluationForARetry(NegotiatorMutation):
    """A transport that is discovered again without a rejection must have failed, and gets JSON mode under `auto`."""

    def __init__(self) -> None:
        super().__init__()
        self.discovered: list[ModelTransport] = []
        self.suspected = False

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        self.suspected = sum(transport is one for one in self.discovered) > 0 and bool(self.asked)
        self.discovered.append(transport)
        return super().capabilities(transport, model)

    def policy(self, policy: str) -> str:
        return "compatibility" if policy == "auto" and self.suspected else policy


# --- NEG-6 ---


class DefaultsMutation(NegotiatorMutation):
    """A negotiator that assumes something of transports that declare nothing."""

    def assumed(self, model: str) -> ModelCapabilities:
        raise NotImplementedError

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        found = super().capabilities(transport, model)
        return found if callable(getattr(transport, "capabilities", None)) else self.assumed(model)


@mutant("NEG-6", suite=NEGOTIATOR)
class TrustsAWellKnownName(DefaultsMutation):
    """A model with a well-known name is believed to have strict output behind any transport."""

    def assumed(self, model: str) -> ModelCapabilities:
        return ModelCapabilities(strict_json_schema=model.startswith("gpt-"))


@mutant("NEG-6", suite=NEGOTIATOR)
class AssumesATemperature(DefaultsMutation):
    """A transport that declares nothing is believed to take a temperature."""

    def assumed(self, model: str) -> ModelCapabilities:
        return ModelCapabilities(temperature=True)


@mutant("NEG-6", suite=NEGOTIATOR, touches={"NEG-1": STRICT_IS_SENT, "NEG-3": REQUIRED_OF_THE_SILENT})
class AssumesTheBest(DefaultsMutation):
    """A transport that declares nothing is believed to do everything."""

    def assumed(self, model: str) -> ModelCapabilities:
        return ModelCapabilities(strict_json_schema=True, temperature=True)


@mutant(
    "NEG-6",
    suite=NEGOTIATOR,
    touches={
        "NEG-1": "its evaluations share a model between a transport that declares something and one that does not",
        "NEG-3": "its transports share a model with one that has strict output",
    },
)
class RemembersByTheModelsName(NegotiatorMutation):
    """What one transport declares of a model is believed of every other with a model of that name."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, ModelCapabilities] = {}

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        if model not in self.known:
            self.known[model] = super().capabilities(transport, model)
        return self.known[model]


@mutant("NEG-6", suite=NEGOTIATOR)
class RemembersByTheTransport(NegotiatorMutation):
    """What a transport declares of the first model is believed of its other models."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[tuple[ModelTransport, ModelCapabilities]] = []

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        for known, capabilities in self.known:
            if known is transport:
                return capabilities
        self.known.append((transport, super().capabilities(transport, model)))
        return self.known[-1][1]


@mutant(
    "NEG-6",
    suite=NEGOTIATOR,
    touches=dict.fromkeys(("NEG-1", "NEG-3"), "it discovers the capabilities of such a transport too"),
)
class CannotDoWithoutDiscovery(NegotiatorMutation):
    """A transport that has no discovery makes the negotiator raise an `AttributeError`."""

    def capabilities(self, transport: Any, model: str) -> ModelCapabilities:
        found: ModelCapabilities = transport.capabilities(model)
        return found


@mutant("NEG-6", suite=NEGOTIATOR, touches={"NEG-5": "what is declared is looked for once discovery works again"})
class ForgetsTheTemperature(NegotiatorMutation):
    """Of what is declared, the temperature gets lost."""

    def capabilities(self, transport: ModelTransport, model: str) -> ModelCapabilities:
        found = super().capabilities(transport, model)
        return ModelCapabilities(found.strict_json_schema, recursive_schemas=found.recursive_schemas)
