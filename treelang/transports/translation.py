"""Error translation: whatever an SDK or an HTTP library raises becomes an error of the contract, in one place.

`with translator:` around the code that talks to the provider is all that an adapter needs. It acts on
`Exception` alone, so cancellation and generator exits pass by construction (CAN-1), and on what is raised inside
the block alone, so an exception of the consumer of a stream passes as long as no `yield` stands inside (STR-14).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

from treelang.errors import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelTransportError,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
    TreelangError,
)
from treelang.transports.error_detail import ErrorDetail, kind_of_status
from treelang.transports.rejection import is_structured_output_rejection
from treelang.transports.retry_after import parse_retry_after

ErrorRule: TypeAlias = tuple[type[Exception], type[ProviderResponseError]]
"""What an exception class means. Rules are tried in order, and the first that fits decides."""

_DEFAULT_RULES: tuple[ErrorRule, ...] = (
    (TimeoutError, ModelTimeoutError),
    (OSError, ModelConnectionError),
    # anyio raises one where every address of the provider refused.
    (ExceptionGroup, ModelConnectionError),
)

_PHRASES: Mapping[type[ProviderResponseError], str] = {
    ModelAuthenticationError: "refused the credential",
    ModelRateLimitError: "asks for fewer requests",
    ModelTimeoutError: "did not answer in time",
    ModelConnectionError: "could not be reached or hung up",
    ModelTransportError: "failed to serve the request",
    StructuredOutputUnsupportedError: "rejects strict structured output for this request",
    ProviderResponseError: "sent an answer that cannot be used",
}


def http_rules() -> tuple[ErrorRule, ...]:
    """Rules for the HTTP libraries that are loaded: httpx2, which today's SDKs use, and httpx.

    Both may be loaded in one process, and some exceptions pass through the SDKs as they are.
    """
    rules: list[ErrorRule] = []
    for module in (sys.modules.get("httpx2"), sys.modules.get("httpx")):
        if module is not None:
            rules += (
                (module.TimeoutException, ModelTimeoutError),
                (module.DecodingError, ProviderResponseError),
                (module.TransportError, ModelConnectionError),
            )
    return tuple(rules)


class ErrorTranslator:
    """A context manager that raises contract errors from what is raised inside it (ERR-1 to ERR-11).

    Exceptions with a failing HTTP response (an attribute `response` with `status_code` and `headers`) are
    classified by the status alone, others by the rules, then by the error object that the provider reported in-band
    (an attribute `body`); what remains is a `ModelTransportError`. One translator serves one call and may be entered
    many times.

    Args:
        provider: Name of the deployment, for `error.provider` (ERR-6).
        rules: What the SDK's exceptions mean, the more specific first.
        strict: Whether the request asked for strict output, so that its rejection is recognised (FBK-2, FBK-4).
        private: Gives the texts that no error may hold, asked only when there is an error (SEC-1).
    """

    def __init__(
        self,
        provider: str,
        rules: Sequence[ErrorRule] = (),
        *,
        strict: bool = False,
        private: Callable[[], str] = str,
    ) -> None:
        self._provider = provider
        self._rules = rules
        self._strict = strict
        self._private = private
        self._outer: BaseException | None = None
        self.response_head: Callable[[], Any] | None = None
        """Gives the response whose headers came last in this call, or `None` before any did."""
        self.reported: Callable[[Any], Exception] | None = None
        """Makes the SDK's own exception for an error that the provider reported in-band, given the decoded body."""

    def __enter__(self) -> None:
        self._outer = sys.exception()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, TreelangError):
            raise self.translate(error) from error

    def translate(self, error: Exception) -> ProviderResponseError:
        """Return the contract's error for `error`, which becomes its cause where it is raised."""
        response = self._failing_response(error)
        if response is not None:
            return self.status_error(response.status_code, response.headers, _decoded_body(response))
        for known, kind in (*self._rules, *_DEFAULT_RULES):
            if isinstance(error, known):
                return self._error(kind)
        return self.in_band_error(getattr(error, "body", None))

    def status_error(self, status: int, headers: Mapping[str, str], body: Any) -> ProviderResponseError:
        """Return the error of a failing status; the body decides about nothing but a rejection of strict output."""
        detail = ErrorDetail.read(body)
        kind: type[ProviderResponseError] = kind_of_status(status)
        if self._strict and is_structured_output_rejection(status, detail):
            kind = StructuredOutputUnsupportedError
        return self._error(kind, detail, status=status, retry_after=parse_retry_after(headers))

    def in_band_error(self, body: Any) -> ProviderResponseError:
        """Return the error of a failure that was reported under a successful status (ERR-7, ERR-11)."""
        detail = ErrorDetail.read(body)
        return self._error(detail.kind, detail)

    def raise_in_band(self, body: Any) -> NoReturn:
        """Raise the error of a failure reported under a successful status, from the SDK's own exception (ERR-9)."""
        raise self.in_band_error(body) from (self.reported(body) if self.reported else None)

    def unusable(self, why: str) -> ProviderResponseError:
        """Return the error of an answer that cannot be used; `why` is in our own words (CMP-7, CMP-8)."""
        return ProviderResponseError(
            f"{self._provider} {_PHRASES[ProviderResponseError]}: {why}.", provider=self._provider
        )

    def _error(
        self,
        kind: type[ProviderResponseError],
        detail: ErrorDetail = ErrorDetail(),  # noqa: B008  # frozen
        *,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> ProviderResponseError:
        code = detail.safe_code(self._private())
        facts = [f"HTTP {status}" if status is not None else None, code]
        suffix = ", ".join(fact for fact in facts if fact)
        message = f"{self._provider} {_PHRASES[kind]}" + (f" ({suffix})." if suffix else ".")
        return kind(message, provider=self._provider, status_code=status, retry_after=retry_after, code=code)

    def _failing_response(self, error: Exception) -> Any:
        # Where the body of a failing response was cut, the HTTP library's error hides the one that knows the
        # status, which is then its context (ERR-16). What the caller was handling is not of this call.
        responses = [getattr(link, "response", None) for link in _contexts(error, self._outer)]
        if self.response_head is not None:
            responses.append(self.response_head())
        for response in responses:
            status = getattr(response, "status_code", None)
            if type(status) is int and not 200 <= status < 300:
                return response
        return None


def _contexts(error: BaseException, outer: BaseException | None) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None and link is not outer:
        yield link
        link = link.__context__


def _decoded_body(response: Any) -> Any:
    try:
        return response.json()
    except Exception:  # not read, not JSON, not UTF-8: a body that says nothing (ERR-14)
        return None
