"""Mutants of FBK-9, FBK-10, FBK-13 and FBK-14: transports that meddle with what follows a rejection or an answer."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncGenerator
from typing import Any

from tests.conformance.mutants.client import LeanClient
from tests.conformance.mutants.fallback import JSON_MODE, CompleteMutation, fallback_mutant
from tests.conformance.mutants.mutation import CHAT, MESSAGES, RESPONSES, ErrorMutation, Moment, Mutation, remade
from tests.conformance.mutants.requests import RequestMutation
from treelang import ModelRequest, ModelTransportError, ProviderResponseError, StructuredOutputUnsupportedError
from treelang.transports.request import CheckedRequest, Message

A_PROGRAM = '{"type": "program", "mode": "single", "body": [{"type": "value", "name": "answer", "value": 1}]}'

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


@fallback_mutant("FBK-13", wires=(CHAT, RESPONSES, MESSAGES))
class TakesAFailureInMidStreamForARejection(ErrorMutation):
    """A stream that reports a failure after a chunk is told as a rejection."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        reported = moment is Moment.AFTER_A_CHUNK and error.status_code is None
        return remade(error, StructuredOutputUnsupportedError) if reported else error


@fallback_mutant("FBK-13", wires=(CHAT, MESSAGES))
class CompletesABrokenStream(Mutation):
    """A stream that reports a failure is asked for once more in JSON mode, and the failure forgotten."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        begun = False
        try:
            async with contextlib.aclosing(super()._stream(request)) as chunks:
                async for chunk in chunks:
                    begun = True
                    yield chunk
        except ModelTransportError as error:
            if not begun or error.status_code is not None:
                raise
            yield await Mutation.complete(self, {**request, **JSON_MODE})


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


class _OtherCredential(LeanClient):
    def _request(self, path: str, body: dict[str, Any]) -> bytes:
        request = super()._request(path, body)
        strict = body.get("response_format", {}).get("type") == "json_schema"
        return request if strict else request.replace(b"Bearer ", b"Bearer another-", 1)


@fallback_mutant("FBK-14")
class AsksInJsonModeAsSomebodyElse(Mutation):
    """A request in JSON mode bears another credential."""

    client_class = _OtherCredential
