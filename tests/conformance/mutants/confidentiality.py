"""Mutants of SEC: keys, prompts and schemas that come to light."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
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
from treelang import (
    ErrorTranslator,
    ModelConnectionError,
    ModelRequest,
    ModelRequestError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
)
from treelang.transports.error_detail import ErrorDetail
from treelang_conformance.endpoint import Endpoint

_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())


class _QuotesA404(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        return remade(error, text=ErrorDetail.read(body).message) if status == 404 else error


@mutant("SEC-1", wires=(CHAT, RESPONSES, MESSAGES))
class QuotesTheProviderOnA404(Mutation):
    """The error for 404 has the provider's words for its text."""

    translator_class = _QuotesA404


class _KeepsHeaders(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        error.request_id = headers.get("x-request-id")  # type: ignore[attr-defined]
        return error


@mutant("SEC-1")
class KeepsTheRequestIdUnchecked(Mutation):
    """An error has the provider's request id in an attribute, whatever stands there."""

    translator_class = _KeepsHeaders


class _TrustsCodes(ErrorTranslator):
    def in_band_error(self, body: Any) -> ProviderResponseError:
        error = super().in_band_error(body)
        detail = ErrorDetail.read(body)
        return remade(error, code=detail.code or detail.type)


@mutant("SEC-1", wires=(CHAT, MESSAGES))
class TrustsACodeInBand(Mutation):
    """The code of an error in-band is whatever the provider wrote there."""

    translator_class = _TrustsCodes


@mutant("SEC-1")
class QuotesAMalformedRequest(ErrorMutation):
    """The error for an unknown role is raised while another one, which quotes the message, is handled."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ModelRequestError as error:
            if "role" not in str(error):
                raise
            raise remade(error) from ModelRequestError(f"{request['messages']}", provider=self._provider)

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return error


@mutant("SEC-1", wires=(CHAT, MESSAGES))
class NotesTheRequestOfALostConnection(Mutation):
    """The error for a connection that is lost has a note that quotes the request."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ModelConnectionError as error:
            error.add_note(f"The request was {request}.")
            raise


@mutant("SEC-1", wires=(CHAT, MESSAGES))
class NotesTheRequestOfATimeout(ErrorMutation):
    """The error for a timeout in a stream has a note that quotes the request."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        self._asked = request
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error, ModelTimeoutError) and moment is not Moment.COMPLETING:
            error.add_note(f"The request was {self._asked}.")
        return error


@mutant("SEC-1")
class KeepsTheDocumentThatIsNoJson(ErrorMutation):
    """The error for an answer that is not JSON keeps the answer in an attribute, as the decoder's error does."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error.__cause__, json.JSONDecodeError):
            error.document = error.__cause__.doc  # type: ignore[attr-defined]
        return error


@mutant("SEC-2", wires=(CHAT, MESSAGES))
class ShowsItsClientAfterACall(Mutation):
    """The `repr` of a transport that has been used shows the client and all that it holds."""

    _used = False

    async def complete(self, request: ModelRequest) -> str:
        self._used = True
        return await super().complete(request)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self._client)})" if self._used else super().__repr__()


@mutant("SEC-2")
class ShowsItsKeyWhenFormatted(Mutation):
    """A transport that is formatted into a text shows its key; its `repr` does not."""

    def __format__(self, specification: str) -> str:
        return f"{type(self).__name__}({self._client.api_key})"


@mutant("SEC-3", wires=(CHAT, MESSAGES))
class LogsARequestThatFailed(Mutation):
    """A request that failed is logged at level DEBUG."""

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ProviderResponseError:
            _log.debug("failed: %s", request)
            raise


@mutant("SEC-3")
class LogsTheTracebackOfAFailure(Mutation):
    """A stream that fails is logged with its traceback, in which the SDK's exception quotes the provider."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except ProviderResponseError:
                    _log.info("a stream failed", exc_info=True)
                    raise
                if chunk is None:
                    return
                yield chunk


@mutant("SEC-3", wires=(CHAT, MESSAGES))
class LogsTheRequestBesideTheMessage(Mutation):
    """A stream is logged below DEBUG with the request as an attribute of the record, which no text shows."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        _log.log(5, "a stream begins", extra={"request": request})
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk


@mutant("SEC-5", wires=(CHAT, MESSAGES))
class FollowsARedirect(Mutation):
    """`complete` sends its request to wherever a 308 leads."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._endpoint = endpoint

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ModelTransportError as error:
            if error.status_code != 308:
                raise
            response: Any = getattr(error.__cause__, "response", None)
            url = response.headers["location"].rpartition("/")[0]
            async with type(self)(dataclasses.replace(self._endpoint, url=url)) as moved:
                return await super(Mutation, moved).complete(request)
