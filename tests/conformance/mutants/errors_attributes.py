"""Mutants of ERR-6 to ERR-9, ERR-13, ERR-15: what an error carries."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
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
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
)

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


@mutant("ERR-6", touches={"FBK-2": "it asks for the name too"})
class NamesNoProviderOfARejection(ErrorMutation):
    """The error for a rejection of strict output has an empty provider."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, provider="") if isinstance(error, StructuredOutputUnsupportedError) else error


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


@mutant("ERR-7", wires=(CHAT, MESSAGES))
class GivesALostLineAStatus(ErrorMutation):
    """A connection that is lost in a stream has the status 503."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        lost = isinstance(error, ModelConnectionError) and moment is not Moment.COMPLETING
        return remade(error, status_code=503) if lost else error


@mutant("ERR-7")
class GivesA422AsText(ErrorMutation):
    """The status of a 422 is a text."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, status_code="422") if error.status_code == 422 else error


@mutant("ERR-9", wires=(CHAT, MESSAGES))
class HidesTheCauseOfATimeout(ErrorMutation):
    """A timeout in a stream is raised without its cause."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error, ModelTimeoutError) and moment is not Moment.COMPLETING:
            error.__cause__ = None
        return error


@mutant("ERR-9", wires=(CHAT, MESSAGES))
class MakesUpACause(ErrorMutation):
    """The cause of a lost connection is an exception that nobody has raised."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error, ModelConnectionError):
            error.__cause__ = ConnectionError("The line is lost.")
        return error


@mutant("ERR-9")
class WrapsARateLimitTwice(ErrorMutation):
    """The cause of a rate limit is an error of the contract, whose cause is the original."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error, ModelRateLimitError) and error.status_code == 429:
            try:
                raise remade(error, ModelTransportError) from error.__cause__
            except ModelTransportError as between:
                error.__cause__ = between
        return error


@mutant("ERR-13")
class KeepsALockOnARateLimit(ErrorMutation):
    """The error for 429 has a lock in an attribute, which cannot be copied."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if isinstance(error, ModelRateLimitError):
            error.lock = threading.Lock()  # type: ignore[attr-defined]
        return error


class _ForgetfulError(ModelAuthenticationError):
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args


@mutant("ERR-13")
class LosesItsAttributesInACopy(ErrorMutation):
    """The error for a refused credential is copied by its text alone."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, _ForgetfulError) if isinstance(error, ModelAuthenticationError) else error


@mutant("ERR-15", wires=(CHAT, MESSAGES))
class TellsNoCodeInAStream(ErrorMutation):
    """An error that is reported inside a stream has no code."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        in_stream = moment is not Moment.COMPLETING and error.status_code is None
        return remade(error, code=None) if in_stream else error


@mutant("ERR-15")
class TellsNoCodeOfARefusedCredential(ErrorMutation):
    """The error for a failing status that refuses the credential has no code."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        return remade(error, code=None) if error.status_code in (401, 403) else error


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


@mutant("ERR-8", wires=(CHAT, MESSAGES))
class CapsAWaitExceptForRateLimits(ErrorMutation):
    """`retry_after` is a minute at most for all but 429."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if error.retry_after is None or error.status_code == 429:
            return error
        return remade(error, retry_after=min(error.retry_after, 60))


@mutant("ERR-8")
class RoundsAWaitInAStream(ErrorMutation):
    """A stream's `retry_after` is a whole number of seconds."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException:
        if moment is Moment.COMPLETING or error.retry_after is None:
            return error
        return remade(error, retry_after=int(error.retry_after))


class _NoZoneNoDate(WaitTranslator):
    def wait(self, headers: Mapping[str, str], known: float | None) -> float | None:
        value = headers.get("retry-after", "")
        return known if value[-3:] == "GMT" or not value[:3].isalpha() else None


@mutant("ERR-8", wires=(CHAT, MESSAGES))
class KnowsNoDateWithoutAZone(Mutation):
    """A date in the form of C's `asctime`, which names no zone, is taken for malformed."""

    translator_class = _NoZoneNoDate
