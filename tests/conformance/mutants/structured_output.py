"""Mutants of FBK: strict output on the wire, and what is taken for its rejection."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Mapping
from typing import Any

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
    ErrorTranslator,
    ModelRequest,
    ModelTransportError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
    is_structured_output_rejection,
)
from treelang.transports.error_detail import ErrorDetail
from treelang.transports.request import CheckedRequest, Message


class SchemaMutation(RequestMutation):
    """An adapter that changes a schema on its way to the wire."""

    def rewritten(self, schema: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        if request.strict is None:
            return request
        strict = dataclasses.replace(request.strict, schema=self.rewritten(request.strict.schema))
        return dataclasses.replace(request, strict=strict)


@mutant("FBK-1", wires=(CHAT, RESPONSES, MESSAGES))
class SortsTheKeysOfASchema(SchemaMutation):
    """The keys of a schema reach the wire in alphabetical order."""

    def rewritten(self, schema: dict[str, Any]) -> dict[str, Any]:
        return dict(sorted(schema.items())) if "zebra" in schema.get("properties", {}) else schema


@mutant("FBK-1", wires=(CHAT, MESSAGES))
class ClosesAnOpenSchema(SchemaMutation):
    """A schema that says nothing of additional properties is sent as one that forbids them."""

    def rewritten(self, schema: dict[str, Any]) -> dict[str, Any]:
        return (
            schema
            if "$ref" in schema or "additionalProperties" in schema
            else {**schema, "additionalProperties": False}
        )


@mutant("FBK-1")
class AsksForARecursiveSchemaInVain(Mutation):
    """A schema with definitions is sent as one that the provider need not follow."""

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        arguments = super()._arguments(request)
        match arguments:
            case {"response_format": {"json_schema": {"schema": {"$defs": _}} as strict}}:
                strict["strict"] = False
        return arguments


@mutant(
    "FBK-1",
    touches={
        "CAP-3": "it too looks for strict output on the wire",
        "CMP-5": "it too looks for strict output on the wire",
    },
)
class WeakensStrictInAStream(Mutation):
    """A strict stream asks for an answer that need not follow the schema."""

    _streams = False

    async def complete(self, request: ModelRequest) -> str:
        self._streams = False
        return await super().complete(request)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        self._streams = True
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        arguments = super()._arguments(request)
        match arguments:
            case {"response_format": {"json_schema": dict() as strict}} if self._streams:
                strict["strict"] = False
        return arguments


@mutant("FBK-1", wires=(CHAT, MESSAGES))
class DropsTheBoundsOfArrays(SchemaMutation):
    """A schema is sent without the `maxItems` that stand at any depth."""

    def rewritten(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {key: self._unbounded(value) for key, value in schema.items() if key != "maxItems"}

    def _unbounded(self, value: Any) -> Any:
        return self.rewritten(value) if isinstance(value, dict) else value


class _KnowsNo422(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        return remade(error, ModelTransportError) if status == 422 else error


@mutant("FBK-2")
class KnowsNoRejectionUnder422(Mutation):
    """A rejection is recognised under 400 alone."""

    translator_class = _KnowsNo422


class _KnowsOneEnvelope(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        told = isinstance(body, dict) and isinstance(body.get("error"), dict)
        unknown = isinstance(error, StructuredOutputUnsupportedError) and not told
        return remade(error, ModelTransportError) if unknown else error


@mutant("FBK-2")
class ReadsARejectionInOneEnvelopeAlone(Mutation):
    """A rejection whose words stand outside an error object is not recognised."""

    translator_class = _KnowsOneEnvelope


@mutant("FBK-2", wires=(CHAT, RESPONSES, MESSAGES))
class TellsNoStatusOfARejection(ErrorMutation):
    """The error for a rejection does not carry the status."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, status_code=None) if isinstance(error, StructuredOutputUnsupportedError) else error


class _SearchesTheMessage(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        detail = ErrorDetail.read(body)
        words = (detail.message[start:] for start in range(len(detail.message)))
        rejected = (is_structured_output_rejection(status, dataclasses.replace(detail, message=text)) for text in words)
        return remade(error, StructuredOutputUnsupportedError) if self._strict and any(rejected) else error


@mutant("FBK-3", wires=(CHAT, RESPONSES, MESSAGES))
class FindsARejectionAnywhereInAMessage(Mutation):
    """A bad request is a rejection wherever in its message the words stand, quoted prompts included."""

    translator_class = _SearchesTheMessage


class _AnyStatus(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        rejected = self._strict and status == 404 and is_structured_output_rejection(400, ErrorDetail.read(body))
        return remade(error, StructuredOutputUnsupportedError) if rejected else error


@mutant("FBK-3", wires=(CHAT, MESSAGES))
class TakesA404ForARejection(Mutation):
    """The words of a rejection count under 404 too."""

    translator_class = _AnyStatus


class _LooksAtTheParameter(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        blamed = self._strict and status == 400 and ErrorDetail.read(body).param in ("response_format", "text.format")
        return remade(error, StructuredOutputUnsupportedError) if blamed else error


@mutant("FBK-3", wires=(CHAT, RESPONSES))
class TakesEveryFailureOfTheFormatForARejection(Mutation):
    """A bad request is a rejection whenever its parameter is the format."""

    translator_class = _LooksAtTheParameter


@mutant("FBK-4", wires=(CHAT, MESSAGES))
class RemembersThatACallWasStrict(Mutation):
    """After a strict call every later one is taken for strict."""

    _was_strict = False

    def _translator(self, request: CheckedRequest) -> ErrorTranslator:
        translator = super()._translator(request)
        self._was_strict = self._was_strict or request.strict is not None
        translator._strict = self._was_strict
        return translator


@mutant("FBK-4", wires=(CHAT, RESPONSES))
class TakesJsonModeForStrict(Mutation):
    """A rejection is recognised for requests in JSON mode too."""

    def _translator(self, request: CheckedRequest) -> ErrorTranslator:
        translator = super()._translator(request)
        translator._strict = request.strict is not None or request.json_mode
        return translator


@mutant("FBK-12")
class LeavesTheWordJsonOut(Mutation):
    """A request in JSON mode is sent without the word that the provider demands in a message."""

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        arguments = super()._arguments(request)
        if request.json_mode:
            del arguments["messages"][len(request.messages) :]
        return arguments


@mutant("FBK-12", wires=(CHAT, MESSAGES))
class PutsTheDemandIntoTheUsersText(RequestMutation):
    """A request in JSON mode asks for JSON in the middle of the user's own text."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        if not request.json_mode:
            return request
        *before, last = request.messages
        half = len(last.content) // 2
        asking = Message(last.role, f"{last.content[:half]} (in JSON) {last.content[half:]}")
        return self.with_messages(request, *before, asking)


@mutant("FBK-12", wires=(MESSAGES,))
class AsksForJsonInAStrictRequest(RequestMutation):
    """A strict request asks for JSON in words too."""

    def misread(self, request: CheckedRequest) -> CheckedRequest:
        return dataclasses.replace(request, json_mode=request.json_mode or request.strict is not None)


@mutant("FBK-12", touches={"CMP-5": "it too looks for the mode on the wire"})
class AsksForJsonInWordsAlone(Mutation):
    """A request in JSON mode does not use the mode of the wire."""

    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        arguments = super()._arguments(request)
        if request.json_mode:
            del arguments["response_format"]
        return arguments


@mutant("FBK-13", wires=(CHAT, MESSAGES))
class TakesAnErrorEventForARejection(Mutation):
    """A strict stream that reports a failure after a chunk is raised as a rejection."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        begun = False
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except ModelTransportError as error:
                    if begun and "response_format" in request and error.status_code is None:
                        raise remade(error, StructuredOutputUnsupportedError) from error.__cause__
                    raise
                if chunk is None:
                    return
                yield chunk
                begun = True


@mutant("FBK-13", wires=(CHAT,))
class FallsBackAfterAChunk(Mutation):
    """A strict stream that reports a failure after a chunk goes on with a second request in JSON mode."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        begun = False
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except ModelTransportError as error:
                    if begun and "response_format" in request and error.status_code is None:
                        with contextlib.suppress(ProviderResponseError):
                            await Mutation.complete(self, {**request, "response_format": {"type": "json_object"}})
                    raise
                if chunk is None:
                    return
                yield chunk
                begun = True
