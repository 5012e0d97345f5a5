"""Mutants of ERR: what a failure is raised as, and what its error carries."""

from __future__ import annotations

import contextlib
import math
import ssl
import threading
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

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
    ModelRateLimitError,
    ModelRequest,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    UsageRecord,
)
from treelang.transports.answer import AnswerState
from treelang.transports.error_detail import ErrorDetail

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


class _ByTypeUnder429(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        kind = ErrorDetail.read(body).kind
        return remade(error, kind) if status == 429 and kind is ModelAuthenticationError else error


@mutant("ERR-2", wires=(CHAT, MESSAGES))
class TakesA429ForARefusedCredential(Mutation):
    """A 429 whose body names an invalid key is raised as a refused credential."""

    translator_class = _ByTypeUnder429


class _GatewayTimeout(ErrorTranslator):
    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        told = isinstance(body, dict) and isinstance(body.get("error"), dict)
        return remade(error, ModelTimeoutError) if status == 504 and told else error


@mutant("ERR-5", wires=(CHAT, RESPONSES, MESSAGES))
class TakesA504ForATimeout(Mutation):
    """A 504 with the provider's own words in its body is a timeout."""

    translator_class = _GatewayTimeout


@mutant("ERR-5", touches={"ERR-14": "it judges every status", "ERR-16": "it judges every status"})
class TakesA402ForARefusedCredential(ErrorMutation):
    """A stream that is refused with 402 blames the credential."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        refused = moment is Moment.BEFORE_A_CHUNK and error.status_code == 402
        return remade(error, ModelAuthenticationError) if refused else error


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


# --- ERR-3, ERR-4, ERR-12: the line ---


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


class _TLSIsOther(ErrorTranslator):
    def translate(self, error: Exception) -> ProviderResponseError:
        translated = super().translate(error)
        return remade(translated, ModelTransportError) if isinstance(error, ssl.SSLError) else translated


@mutant("ERR-4", wires=(CHAT, MESSAGES))
class TakesAFailedHandshakeForAnotherError(Mutation):
    """A TLS handshake that fails is an error of no special kind."""

    translator_class = _TLSIsOther


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


@mutant("ERR-12", "STR-14")
class TranslatesTheConsumersTimeout(Mutation):
    """A plain `TimeoutError` that the consumer throws into a stream comes out as the provider's."""

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            async for chunk in chunks:
                try:
                    yield chunk
                except TimeoutError as error:
                    raise ModelTimeoutError("The provider is slow.", provider=self._provider) from error


# --- ERR-6, ERR-7, ERR-9, ERR-13, ERR-15: what an error carries ---


@mutant("ERR-6", wires=(CHAT, MESSAGES))
class NamesTheWireInAStream(ErrorMutation):
    """An error after a chunk names another provider than the others."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, provider="stream") if moment is Moment.AFTER_A_CHUNK else error


@mutant("ERR-6")
class NamesNoProviderOfAnInvalidAnswer(ErrorMutation):
    """The error for a completion that cannot be used names no provider."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        invalid = type(error) is ProviderResponseError and moment is Moment.COMPLETING
        return remade(error, provider=None) if invalid else error


class _InBand200(ErrorTranslator):
    def in_band_error(self, body: Any) -> ProviderResponseError:
        error = super().in_band_error(body)
        return remade(error, status_code=200) if isinstance(error, ModelRateLimitError) else error


@mutant("ERR-7", wires=(CHAT, RESPONSES, MESSAGES))
class GivesARateLimitInBandTheStatus200(Mutation):
    """A rate limit that is reported in-band carries the status of the response."""

    translator_class = _InBand200


@mutant("ERR-7")
class TellsNoStatusOfA529(ErrorMutation):
    """The error for 529, which HTTP does not define, has no status."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, status_code=None) if error.status_code == 529 else error


@mutant("ERR-9", wires=(CHAT, MESSAGES))
class HidesTheCauseOfATimeout(ErrorMutation):
    """A timeout in a stream is raised without its cause."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error, ModelTimeoutError) and moment is not Moment.COMPLETING:
            error.__cause__ = None
        return error


@mutant("ERR-13")
class KeepsALockOnARateLimit(ErrorMutation):
    """The error for 429 has a lock in an attribute, which cannot be copied."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error, ModelRateLimitError):
            error.lock = threading.Lock()  # type: ignore[attr-defined]
        return error


@mutant("ERR-15", wires=(CHAT, MESSAGES))
class TellsNoCodeInAStream(ErrorMutation):
    """An error that is reported inside a stream has no code."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        in_stream = moment is not Moment.COMPLETING and error.status_code is None
        return remade(error, code=None) if in_stream else error


# --- ERR-8: how long to wait ---


class WaitTranslator(ErrorTranslator):
    """A translator that reads the headers in its own way."""

    def wait(self, headers: Mapping[str, str], known: float | None) -> float | None:
        raise NotImplementedError

    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        error = super().status_error(status, headers, body)
        return remade(error, retry_after=self.wait(headers, error.retry_after))


class _SecondsFirst(WaitTranslator):
    def wait(self, headers: Mapping[str, str], known: float | None) -> float | None:
        seconds = headers.get("retry-after", "")
        return float(seconds) if seconds.isdecimal() and len(seconds) < 20 else known


@mutant("ERR-8", wires=(CHAT, MESSAGES))
class ReadsSecondsBeforeMilliseconds(Mutation):
    """`retry-after` comes before `retry-after-ms`."""

    translator_class = _SecondsFirst


class _NegativeDates(WaitTranslator):
    def wait(self, headers: Mapping[str, str], known: float | None) -> float | None:
        if known != 0 or not headers.get("retry-after", "").endswith("GMT"):
            return known
        return (parsedate_to_datetime(headers["retry-after"]) - datetime.now(UTC)).total_seconds()


@mutant("ERR-8")
class GivesAPastDateANegativeWait(Mutation):
    """A date that is past is a negative number of seconds."""

    translator_class = _NegativeDates


class _PythonNumbers(WaitTranslator):
    def wait(self, headers: Mapping[str, str], known: float | None) -> float | None:
        try:
            seconds = float(headers.get("retry-after", ""))
        except ValueError:
            return known
        return seconds if math.isfinite(seconds) and seconds >= 0 and "retry-after-ms" not in headers else known


@mutant("ERR-8")
class ReadsNumbersAsPythonDoes(Mutation):
    """A number of seconds may have underscores."""

    translator_class = _PythonNumbers


@mutant("ERR-8", wires=(RESPONSES,))
class WaitsForRateLimitsAlone(ErrorMutation):
    """`retry_after` is there for 429 and 503 alone."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return error if error.status_code in (429, 503) else remade(error, retry_after=None)


# --- ERR-10, ERR-11, ERR-16: odd failures ---


@mutant("ERR-10", wires=(CHAT, MESSAGES))
class TrustsTheFieldsBesideTheText(Mutation):
    """An event in which another field has another type than it should lets a `TypeError` out."""

    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        for name in ("id", "object", "model", "index"):
            if name in event and event[name] is not None:
                len(event[name]) if name != "index" else range(event[name])
        return super()._read_event(event, answer, usage)


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


class _BrokenFailure(Response):
    async def read_failure(self) -> None:
        self.body = await self.read()


@mutant("ERR-16", wires=(CHAT, MESSAGES))
class LetsABrokenBodyHideTheStatus(Mutation):
    """A failing response whose body breaks off is raised as what broke it."""

    response_class = _BrokenFailure
