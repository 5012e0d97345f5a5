"""Mutants of FBK-5 to FBK-8 and FBK-11: transports that decide what is the arborist's to decide."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from tests.conformance.mutants.mutation import (
    CHAT,
    MESSAGES,
    RESPONSES,
    ErrorMutation,
    Moment,
    Mutation,
    mutant,
    remade,
)
from tests.conformance.mutants.requests import RequestMutation
from treelang import (
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequest,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
)
from treelang.transports.request import CheckedRequest, StrictSchema
from treelang_conformance.registry import SuiteName

M = TypeVar("M", bound=type[Mutation])

JSON_MODE = {"response_format": {"type": "json_object"}}


def fallback_mutant(*clauses: str, wires: tuple[str, ...] = (CHAT,), **touches: str) -> Callable[[M], M]:
    """Register a mutant of the suite `fallback`; clauses that it touches are written FBK_9="why"."""
    named = {clause.replace("_", "-"): reason for clause, reason in touches.items()}
    return mutant(*clauses, wires=wires, touches=named, suite=SuiteName.FALLBACK)


def is_strict(request: ModelRequest) -> bool:
    return request["response_format"]["type"] == "json_schema"


class CompleteMutation(Mutation):
    """An adapter of which the whole answer alone is broken, which is what the arborist asks for."""

    async def asked(self, request: ModelRequest) -> str:
        """What the sound adapter answers."""
        return await super().complete(request)


FALLBACKS_NEVER_COME = "there is no fallback to judge"

# --- FBK-5 and FBK-6: an explicit rejection is told, and nothing else is done about it ---


@fallback_mutant(
    "FBK-5",
    "FBK-6",
    wires=(CHAT, RESPONSES, MESSAGES),
    FBK_9=FALLBACKS_NEVER_COME,
    FBK_10=FALLBACKS_NEVER_COME,
    FBK_14=FALLBACKS_NEVER_COME,
)
class TellsARejectionAsAnyBadRequest(ErrorMutation):
    """An explicit rejection is raised as any other bad request is."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, ModelTransportError) if isinstance(error, StructuredOutputUnsupportedError) else error


@fallback_mutant(
    "FBK-5",
    "FBK-6",
    FBK_9=FALLBACKS_NEVER_COME,
    FBK_10=FALLBACKS_NEVER_COME,
    FBK_14=FALLBACKS_NEVER_COME,
)
class KnowsNoRejectionWithoutAParameter(ErrorMutation):
    """A rejection is recognised only where the provider names the parameter too."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        body = getattr(error.__cause__, "body", None)
        told = isinstance(body, dict) and body.get("param")
        unknown = isinstance(error, StructuredOutputUnsupportedError) and not told
        return remade(error, ModelTransportError) if unknown else error


@fallback_mutant(
    "FBK-5",
    "FBK-6",
    wires=(CHAT, MESSAGES),
    FBK_9="it counts all requests",
    FBK_10="it counts all requests",
    FBK_14="it counts all requests",
)
class AsksTwiceBeforeItTellsARejection(CompleteMutation):
    """A strict request that is rejected is sent once more as it is."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await self.asked(request)
        except StructuredOutputUnsupportedError:
            return await self.asked(request)


@fallback_mutant(
    "FBK-6",
    "FBK-14",
    wires=(CHAT, RESPONSES, MESSAGES),
    FBK_10="the arborist does not know that its retry follows a fallback, and asks for strict output again",
)
class FallsBackByItself(CompleteMutation):
    """A rejected request is sent again in JSON mode by the transport, which tells nobody."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await self.asked(request)
        except StructuredOutputUnsupportedError:
            return await self.asked({**request, **JSON_MODE})


@fallback_mutant(
    "FBK-5",
    "FBK-6",
    FBK_9="later rejections are not seen for the downgrade",
    FBK_10="later rejections are not seen for the downgrade",
)
class DowngradesEverythingAfterARejection(RequestMutation):
    """Once strict output was rejected, every later strict request is sent in JSON mode."""

    _rejected = False

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except StructuredOutputUnsupportedError:
            self._rejected = True
            raise

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        if self._rejected and request.strict is not None:
            return dataclasses.replace(request, strict=None, json_mode=True)
        return request


# --- FBK-7 and FBK-11: JSON mode is JSON mode ---

JSON_MODE_IS_NEVER_ASKED_FOR = "it looks for JSON mode on the wire"


@fallback_mutant(
    "FBK-7",
    "FBK-11",
    wires=(CHAT, RESPONSES),
    **dict.fromkeys(("FBK_5", "FBK_8", "FBK_9", "FBK_10", "FBK_13"), JSON_MODE_IS_NEVER_ASKED_FOR),
)
class EnforcesASchemaInJsonMode(RequestMutation):
    """A request in JSON mode is sent with a strict schema that any object fits."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        if not request.json_mode:
            return request
        anything = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
        return dataclasses.replace(request, json_mode=False, strict=StrictSchema("any", anything))


@fallback_mutant(
    "FBK-7",
    "FBK-11",
    **dict.fromkeys(("FBK_5", "FBK_8", "FBK_9", "FBK_10", "FBK_13"), JSON_MODE_IS_NEVER_ASKED_FOR),
)
class AsksForTextInJsonMode(Mutation):
    """A request in JSON mode is sent as one for any text."""

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        arguments = super()._arguments(request)
        if request.json_mode:
            del arguments["response_format"]
        return arguments


@fallback_mutant("FBK-7", "FBK-9", wires=(CHAT, RESPONSES))
class TellsARejectionOfJsonModeAsOneOfStrictOutput(Mutation):
    """The words of a rejection count for a request in JSON mode too."""

    def _translator(self, request: CheckedRequest) -> Any:
        translator = super()._translator(request)
        translator._strict = request.strict is not None or request.json_mode
        return translator


# --- FBK-8: other failures are no rejections, and nothing follows them ---


class TakenForARejection(CompleteMutation):
    """An adapter that raises some failures of a strict request as its rejection."""

    def taken(self, error: ProviderResponseError) -> bool:
        raise NotImplementedError

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await self.asked(request)
        except ProviderResponseError as error:
            if is_strict(request) and self.taken(error):
                raise remade(error, StructuredOutputUnsupportedError) from error.__cause__
            raise


@fallback_mutant("FBK-8", wires=(CHAT, RESPONSES, MESSAGES))
class TakesEveryBadRequestForARejection(TakenForARejection):
    """Any status 400 in answer to a strict request is taken for its rejection."""

    def taken(self, error: ProviderResponseError) -> bool:
        return error.status_code == 400


@fallback_mutant("FBK-8", FBK_10="a rate limit at a validation retry is one of its situations")
class TakesARateLimitForARejection(TakenForARejection):
    """A rate limit in answer to a strict request is taken for its rejection."""

    def taken(self, error: ProviderResponseError) -> bool:
        return isinstance(error, ModelRateLimitError)


@fallback_mutant("FBK-8", wires=(CHAT, MESSAGES))
class TakesATimeoutForARejection(TakenForARejection):
    """A timeout of a strict request is taken for its rejection: grammars take long to compile."""

    def taken(self, error: ProviderResponseError) -> bool:
        return isinstance(error, ModelTimeoutError)


@fallback_mutant("FBK-8")
class TakesATruncatedAnswerForARejection(TakenForARejection):
    """A strict request whose answer cannot be used counts as rejected."""

    def taken(self, error: ProviderResponseError) -> bool:
        return type(error) is ProviderResponseError


@fallback_mutant("FBK-8", wires=(CHAT, RESPONSES))
class SendsAgainAfterALostConnection(CompleteMutation):
    """A strict request whose connection is lost is sent once more."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await self.asked(request)
        except ModelConnectionError:
            if not is_strict(request):
                raise
            return await self.asked(request)


@fallback_mutant("FBK-8")
class AsksForLessWhenCancelled(CompleteMutation):
    """A strict request that is cancelled is sent again in JSON mode, to have something to show."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await self.asked(request)
        except asyncio.CancelledError:
            if is_strict(request):
                await self.asked({**request, **JSON_MODE})
            raise
