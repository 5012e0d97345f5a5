"""Mutants of ERR-1 to ERR-5, ERR-10, ERR-11, ERR-14, ERR-16: what a failure is raised as."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import Any, NoReturn

from tests.conformance.mutants.client import Connection, LeanClient, Response
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
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    UsageRecord,
)
from treelang.transports.answer import AnswerState
from treelang.transports.error_detail import ErrorDetail
from treelang_conformance.endpoint import Endpoint

_JUDGES_EVERY_STATUS = {"ERR-14": "it judges every status", "ERR-16": "it judges every status"}

# --- ERR-1, ERR-2, ERR-5, ERR-14: the status decides ---


class _ByTypeUnder403(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        kind = ErrorDetail.read(body).kind
        return remade(error, kind) if status == 403 and kind is ModelRateLimitError else error


@mutant("ERR-1", wires=(CHAT, MESSAGES))
class TakesA403ForARateLimit(Mutation):
    """A 403 whose body names a rate limit is raised as one."""

    translator_class = _ByTypeUnder403


@mutant("ERR-1", touches=_JUDGES_EVERY_STATUS)
class TakesARefusedCredentialInAStreamForAnotherError(ErrorMutation):
    """A stream that is refused with 403 is an error of no special kind."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        refused = moment is Moment.BEFORE_A_CHUNK and error.status_code == 403
        return remade(error, ModelTransportError) if refused else error


class _ByTypeUnder429(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        kind = ErrorDetail.read(body).kind
        return remade(error, kind) if status == 429 and kind is ModelAuthenticationError else error


@mutant("ERR-2", wires=(CHAT, MESSAGES))
class TakesA429ForARefusedCredential(Mutation):
    """A 429 whose body names an invalid key is raised as a refused credential."""

    translator_class = _ByTypeUnder429


class _NoWaitNoLimit(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        named = ErrorDetail.read(body).kind is ModelRateLimitError
        return remade(error, ModelTransportError) if status == 429 and named and error.retry_after is None else error


@mutant("ERR-2")
class WantsAWaitWithARateLimit(Mutation):
    """A 429 whose body names a rate limit, but whose headers name no time, is an error of no special kind."""

    translator_class = _NoWaitNoLimit


class _GatewayTimeout(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        told = isinstance(body, dict) and isinstance(body.get("error"), dict)
        return remade(error, ModelTimeoutError) if status == 504 and told else error


@mutant("ERR-5", wires=(CHAT, RESPONSES, MESSAGES))
class TakesA504ForATimeout(Mutation):
    """A 504 with the provider's own words in its body is a timeout."""

    translator_class = _GatewayTimeout


@mutant("ERR-5", touches=_JUDGES_EVERY_STATUS)
class TakesA402ForARefusedCredential(ErrorMutation):
    """A stream that is refused with 402 blames the credential."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        refused = moment is Moment.BEFORE_A_CHUNK and error.status_code == 402
        return remade(error, ModelAuthenticationError) if refused else error


class _OverloadByCode(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        limited = status >= 500 and ErrorDetail.read(body).kind is ModelRateLimitError
        return remade(error, ModelRateLimitError) if limited else error


@mutant("ERR-5", wires=(CHAT, MESSAGES))
class TakesAServersFailureForARateLimit(Mutation):
    """A 5xx whose body names a rate limit is raised as one."""

    translator_class = _OverloadByCode


class _NeedsABody(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        return remade(error, ModelTransportError) if status == 401 and isinstance(body, list) else error


@mutant("ERR-14", wires=(CHAT, MESSAGES))
class DoesNotBelieveA401WithAList(Mutation):
    """A 401 whose body is a JSON list is an error of no special kind."""

    translator_class = _NeedsABody


class _FailsOnPages(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        if "html" in headers.get("content-type", "") and status == 429:
            return self.unusable("it is a page")
        return super().status_error(status, headers, body)


@mutant("ERR-14")
class TakesAPageUnder429ForAnAnswer(Mutation):
    """A 429 with an HTML page is raised as an invalid answer."""

    translator_class = _FailsOnPages


class _EmptyFailure(Response):
    async def read_failure(self) -> None:
        try:
            self.body = await self.read()
        except OSError:
            return
        if self.status_code == 401 and not self.body:
            raise ConnectionError("closed before a body")


@mutant("ERR-14", wires=(CHAT, MESSAGES))
class TakesAnEmpty401ForALostLine(Mutation):
    """A 401 without a body is raised as a lost connection."""

    response_class = _EmptyFailure


# --- ERR-3 and ERR-4: the line ---


class _ConnectsOrFails(LeanClient):
    async def connect(self) -> Connection:
        try:
            return await super().connect()
        except TimeoutError as error:
            raise ConnectionError("cannot connect") from error


@mutant("ERR-3", wires=(CHAT, MESSAGES))
class TakesATimeoutInConnectingForARefusal(Mutation):
    """A connection that is not made in time is a lost one."""

    client_class = _ConnectsOrFails


class _WritesOrFails(LeanClient):
    async def connect(self) -> Connection:
        connection = await super().connect()
        drain = connection.drain

        async def drain_or_fail() -> None:
            try:
                await drain()
            except TimeoutError as error:
                raise ConnectionError("cannot send") from error

        connection.drain = drain_or_fail  # type: ignore[method-assign]
        return connection


@mutant("ERR-3")
class TakesATimeoutInSendingForALostLine(Mutation):
    """A request that cannot be sent in time is a lost connection."""

    client_class = _WritesOrFails


@mutant("ERR-4", wires=(CHAT, MESSAGES))
class TakesAFailedHandshakeForAnotherError(ErrorMutation):
    """A connection that fails where TLS was asked for is an error of no special kind."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._secure = endpoint.url.startswith("https:")

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if self._secure and isinstance(error, ModelConnectionError):
            return remade(error, ModelTransportError)
        return error


class _TakesWhatCame(Response):
    async def read(self) -> bytes:
        data = b""
        try:
            async for part in self.iter_bytes():
                data += part
        except ConnectionError:
            if not data.endswith(b"}"):
                raise
        return data


@mutant("ERR-4", wires=(CHAT, RESPONSES, MESSAGES))
class TakesAShortBodyForWhole(Mutation):
    """A completion that is shorter than was promised is whole if it ends with a brace."""

    response_class = _TakesWhatCame


class _UnknownHostIsOther(ErrorTranslator):
    def translate(self, error: Exception) -> ProviderResponseError:
        translated = super().translate(error)
        return remade(translated, ModelTransportError) if isinstance(error, socket.gaierror) else translated


@mutant("ERR-4")
class TakesAnUnknownHostForAnotherError(Mutation):
    """A host name that does not exist is an error of no special kind."""

    translator_class = _UnknownHostIsOther


# --- ERR-10, ERR-11, ERR-16: odd failures ---


@mutant("ERR-10", wires=(CHAT, MESSAGES))
class TrustsTheFieldsBesideTheText(Mutation):
    """An event in which another field has another type than it should lets a `TypeError` out."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        for name in ("id", "object", "model", "index"):
            if name in event and event[name] is not None:
                len(event[name]) if name != "index" else range(event[name])
        return super()._read_event(event, answer, usage)


@mutant("ERR-10", wires=(CHAT, RESPONSES, MESSAGES))
class LooksUpATypeUnasked(Mutation):
    """A completion lets a `TypeError` out where the type of an item of its content is no text but a list."""

    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        for item in _items(body):
            if isinstance(item, dict) and item.get("type") in _SKIPPED:
                answer.malformed = "it has an item that is not known"
        return super()._read_completion(body, answer, usage)


_SKIPPED = frozenset({"x_never_sent"})


def _items(body: dict[str, Any]) -> list[Any]:
    match body:
        case {"choices": [{"message": {"content": list(items)}}]} | {"output": list(items)} | {"content": list(items)}:
            return items
    return []


class _LooksUpTheCode(ErrorTranslator):
    def in_band_error(self, body: Any) -> ProviderResponseError:
        match body:
            case {"error": {"type": kind}} if kind in _SKIPPED:
                return self.unusable("its error is not known")
        return super().in_band_error(body)


@mutant("ERR-10", wires=(CHAT, MESSAGES))
class LooksUpTheTypeOfAnErrorUnasked(Mutation):
    """An error in-band lets a `TypeError` out where its type is no text but a list."""

    translator_class = _LooksUpTheCode


@mutant("ERR-10", wires=(CHAT, MESSAGES))
class RaisesAnErrorOfItsOwnForARedirect(ErrorMutation):
    """A redirect is raised as a `ValueError`."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        redirected = error.status_code is not None and 300 <= error.status_code < 400
        return ValueError("The provider redirects.") if redirected else error


class _ByWords(ErrorTranslator):
    def in_band_error(self, body: Any) -> ProviderResponseError:
        error = super().in_band_error(body)
        limited = type(error) is ModelTransportError and "rate_limit" in ErrorDetail.read(body).message
        return remade(error, ModelRateLimitError) if limited else error


@mutant("ERR-11", wires=(CHAT, RESPONSES, MESSAGES))
class ClassifiesByWordsInTheMessage(Mutation):
    """An error in-band whose message mentions a rate limit is raised as one."""

    translator_class = _ByWords


@mutant("ERR-11", touches={"STR-7": "it reports the same failure inside a stream"})
class TakesAnInvalidKeyInAStreamForAnotherError(ErrorMutation):
    """An invalid key that is reported before the first chunk is an error of no special kind."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        in_band = moment is Moment.BEFORE_A_CHUNK and error.status_code is None
        return remade(error, ModelTransportError) if in_band and error.code == "invalid_api_key" else error


@mutant("ERR-11", touches={"ERR-15": "the same errors have no code then"})
class TakesAnErrorBodyForAnInvalidAnswer(ErrorMutation):
    """An error object as the body of a completion is raised as an answer that cannot be used."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        in_band = moment is Moment.COMPLETING and type(error) is ModelTransportError and error.status_code is None
        return remade(error, ProviderResponseError) if in_band else error


class _WantsAnObject(ErrorTranslator):
    def raise_in_band(self, body: Any) -> NoReturn:
        if isinstance(body, dict) and isinstance(body.get("error"), str):
            raise self.unusable("it has no choices")
        super().raise_in_band(body)


@mutant("ERR-11", wires=(CHAT, RESPONSES))
class TakesATextForNoError(Mutation):
    """An error in-band that is a text is raised as an answer that cannot be used."""

    translator_class = _WantsAnObject


class _BrokenFailure(Response):
    async def read_failure(self) -> None:
        self.body = await self.read()


@mutant("ERR-16", wires=(CHAT, MESSAGES))
class LetsABrokenBodyHideTheStatus(Mutation):
    """A failing response whose body breaks off is raised as what broke it."""

    response_class = _BrokenFailure


class _StalledFailure(Response):
    async def read_failure(self) -> None:
        with contextlib.suppress(ConnectionError):
            self.body = await self.read()


@mutant("ERR-16", wires=(CHAT, MESSAGES))
class LetsAStalledBodyHideTheStatus(Mutation):
    """A failing response whose body stalls is raised as a timeout."""

    response_class = _StalledFailure
