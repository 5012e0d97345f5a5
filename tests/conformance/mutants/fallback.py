"""Mutants of FBK-5 to FBK-11, FBK-13 and FBK-14: transports that decide what is the arborist's to decide."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
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
from treelang.transports.request import CheckedRequest, Message, StrictSchema
from treelang_conformance.registry import SuiteName

M = TypeVar("M", bound=type[Mutation])

JSON_MODE = {"response_format": {"type": "json_object"}}
A_PROGRAM = '{"type": "program", "mode": "single", "body": [{"type": "value", "name": "answer", "value": 1}]}'


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


# --- FBK-9: what follows a rejection is final ---


class AfterARejection(CompleteMutation):
    """An adapter that treats the failure of a request in another way where a rejection came before it."""

    _rejected = False

    async def again(self, request: ModelRequest) -> str:
        raise NotImplementedError

    async def complete(self, request: ModelRequest) -> str:
        rejected, self._rejected = self._rejected, False
        try:
            return await self.asked(request)
        except StructuredOutputUnsupportedError:
            self._rejected = True
            raise
        except (Exception, asyncio.CancelledError):
            if not rejected:
                raise
            return await self.again(request)


@fallback_mutant("FBK-9", wires=(CHAT, RESPONSES, MESSAGES))
class TriesTheFallbackTwice(AfterARejection):
    """A fallback that fails is sent once more."""

    async def again(self, request: ModelRequest) -> str:
        return await self.asked(request)


@fallback_mutant("FBK-9")
class AsksForTextWhenTheFallbackFails(AfterARejection):
    """A fallback that fails is followed by a request for any text."""

    async def again(self, request: ModelRequest) -> str:
        return await self.asked({name: value for name, value in request.items() if name != "response_format"})


@fallback_mutant("FBK-9", wires=(CHAT, MESSAGES))
class TellsTheRejectionAgain(AfterARejection):
    """A fallback that fails is told as the rejection that came before it."""

    async def again(self, request: ModelRequest) -> str:
        raise StructuredOutputUnsupportedError("The provider rejected strict output.", provider=self._provider)


# --- FBK-10: answers are the arborist's to judge ---


class JudgingMutation(CompleteMutation):
    """An adapter that reads the answers that it should pass on."""

    async def judged(self, request: ModelRequest) -> str:
        raise NotImplementedError

    async def complete(self, request: ModelRequest) -> str:
        text = await self.asked(request)
        try:
            json.loads(text)
        except ValueError:
            return await self.judged(request)
        return text


@fallback_mutant(
    "FBK-10",
    wires=(CHAT, RESPONSES, MESSAGES),
    **dict.fromkeys(("FBK_5", "FBK_6", "FBK_7", "FBK_14"), "a validation retry comes into some of its situations"),
)
class RefusesProseItself(JudgingMutation):
    """An answer that is no JSON is refused by the transport, so that nobody asks again."""

    async def judged(self, request: ModelRequest) -> str:
        raise ProviderResponseError("The answer is no JSON.", provider=self._provider)


@fallback_mutant(
    "FBK-10",
    **dict.fromkeys(("FBK_5", "FBK_6", "FBK_7", "FBK_14"), "a validation retry comes into some of its situations"),
)
class MakesAProgramOfProse(JudgingMutation):
    """An answer that is no JSON is returned as a program that says nothing."""

    async def judged(self, request: ModelRequest) -> str:
        return A_PROGRAM


@fallback_mutant("FBK-10")
class AsksAgainForProseItself(JudgingMutation):
    """An answer that is no JSON makes the transport ask again by itself."""

    async def judged(self, request: ModelRequest) -> str:
        return await self.asked(request)


@fallback_mutant(
    "FBK-10",
    wires=(CHAT, RESPONSES),
    **dict.fromkeys(("FBK_5", "FBK_6"), "a rejection at a validation retry is one of its situations"),
)
class WeakensStrictInAConversation(RequestMutation):
    """A strict request with a turn of the model's own is sent in JSON mode."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        if request.strict is not None and any(message.role == "assistant" for message in request.messages):
            return dataclasses.replace(request, strict=None, json_mode=True)
        return request


# --- FBK-13: what was yielded cannot be taken back ---


class MidStreamMutation(Mutation):
    """An adapter that treats a failure after a chunk in another way."""

    def after_a_chunk(self, request: ModelRequest, error: ModelTransportError) -> Awaitable[str]:
        raise NotImplementedError

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        begun = False
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except ModelTransportError as error:
                    if not begun or error.status_code is not None:
                        raise
                    chunk = await self.after_a_chunk(request, error)
                    begun = False
                if chunk is None:
                    return
                yield chunk
                begun = True


@fallback_mutant("FBK-13", wires=(CHAT, RESPONSES, MESSAGES))
class TakesAFailureInMidStreamForARejection(MidStreamMutation):
    """A strict stream that reports a failure after a chunk is told as a rejection."""

    async def after_a_chunk(self, request: ModelRequest, error: ModelTransportError) -> str:
        if is_strict(request):
            raise remade(error, StructuredOutputUnsupportedError) from error.__cause__
        raise error


@fallback_mutant("FBK-13", wires=(CHAT, MESSAGES))
class CompletesABrokenStream(MidStreamMutation):
    """A stream that reports a failure after a chunk is asked for once more in JSON mode, and the failure forgotten."""

    async def after_a_chunk(self, request: ModelRequest, error: ModelTransportError) -> str:
        return await Mutation.complete(self, {**request, **JSON_MODE})


# --- FBK-14: the output format alone ---


class JsonModeMutation(RequestMutation):
    """An adapter that reads a request in JSON mode differently in more than the format."""

    def in_json_mode(self, request: CheckedRequest) -> CheckedRequest:
        raise NotImplementedError

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        return self.in_json_mode(request) if request.json_mode else request


@fallback_mutant("FBK-14", wires=(CHAT, RESPONSES, MESSAGES))
class LeavesTheTemperatureOutInJsonMode(JsonModeMutation):
    """A request in JSON mode is sent without its temperature."""

    def in_json_mode(self, request: CheckedRequest) -> CheckedRequest:
        return dataclasses.replace(request, temperature=None)


@fallback_mutant("FBK-14", wires=(CHAT, MESSAGES))
class AllowsMoreTokensInJsonMode(JsonModeMutation):
    """A request in JSON mode allows twice as many tokens."""

    def in_json_mode(self, request: CheckedRequest) -> CheckedRequest:
        return dataclasses.replace(request, max_tokens=request.max_tokens and 2 * request.max_tokens)


@fallback_mutant("FBK-14", wires=(CHAT, RESPONSES))
class AsksAnotherModelInJsonMode(JsonModeMutation):
    """A request in JSON mode goes to a smaller model."""

    def in_json_mode(self, request: CheckedRequest) -> CheckedRequest:
        return dataclasses.replace(request, model=f"{request.model}-mini")


@fallback_mutant("FBK-14", wires=(CHAT, MESSAGES))
class AsksInJsonModeAsTheUser(JsonModeMutation):
    """A request in JSON mode has its system text among the turns."""

    def in_json_mode(self, request: CheckedRequest) -> CheckedRequest:
        return self.with_messages(request, *(Message("user", message.content) for message in request.messages))


@fallback_mutant("FBK-14")
class ForgetsTheTurnsBetweenInJsonMode(JsonModeMutation):
    """A request in JSON mode has the system text and the last turn alone."""

    def in_json_mode(self, request: CheckedRequest) -> CheckedRequest:
        system = [message for message in request.messages if message.role == "system"]
        return self.with_messages(request, *system, request.messages[-1])
