"""Error translation for any HTTP library or SDK, and what never comes through it (clauses ERR-1 to ERR-11)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

import treelang
from treelang import ErrorTranslator

PRIVATE = "sk-a-key and a prompt"


@dataclass
class Response:
    """As much of a response as classification reads."""

    status_code: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        if isinstance(self.body, Exception):
            raise self.body
        return self.body


class StatusError(Exception):
    """An SDK's exception for a failing status."""

    def __init__(self, response: Response) -> None:
        super().__init__(PRIVATE)
        self.response = response


class InBandError(Exception):
    """An SDK's exception for an error that came under a successful status."""

    def __init__(self, body: Any) -> None:
        super().__init__(PRIVATE)
        self.body = body


class StallError(Exception):
    """An SDK's timeout."""


RULES = ((StallError, treelang.ModelTimeoutError),)


def translated(error: Exception, **options: Any) -> treelang.ProviderResponseError:
    with pytest.raises(treelang.ProviderResponseError) as caught, ErrorTranslator("acme", RULES, **options):
        raise error
    assert caught.value.__cause__ is error
    assert caught.value.provider == "acme"
    assert PRIVATE not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, treelang.ModelAuthenticationError),
        (403, treelang.ModelAuthenticationError),
        (429, treelang.ModelRateLimitError),
        *[(status, treelang.ModelTransportError) for status in (302, 400, 404, 408, 418, 500, 503, 529)],
    ],
)
def test_a_failing_status_decides_whatever_the_body(status: int, kind: type[Exception]) -> None:
    for body in ({"error": {"type": "rate_limit_error"}}, "text", None, [], ValueError("no JSON")):
        error = translated(StatusError(Response(status, body, {"retry-after": "2"})))
        assert type(error) is kind
        assert (error.status_code, error.retry_after) == (status, 2.0)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (StallError(PRIVATE), treelang.ModelTimeoutError),
        (TimeoutError(PRIVATE), treelang.ModelTimeoutError),
        (ConnectionResetError(PRIVATE), treelang.ModelConnectionError),
        (ExceptionGroup(PRIVATE, [OSError()]), treelang.ModelConnectionError),
        (KeyError(PRIVATE), treelang.ModelTransportError),
        (InBandError(None), treelang.ModelTransportError),
    ],
)
def test_other_exceptions_are_what_the_rules_say(raised: Exception, kind: type[Exception]) -> None:
    error = translated(raised)
    assert type(error) is kind
    assert (error.status_code, error.retry_after, error.code) == (None, None, None)


@pytest.mark.parametrize(
    ("detail", "kind"),
    [
        ({"type": "authentication_error"}, treelang.ModelAuthenticationError),
        ({"type": "permission_error"}, treelang.ModelAuthenticationError),
        ({"code": "invalid_api_key", "type": "invalid_request_error"}, treelang.ModelAuthenticationError),
        ({"type": "rate_limit_error"}, treelang.ModelRateLimitError),
        ({"code": "rate_limit_exceeded"}, treelang.ModelRateLimitError),
        ({"code": "insufficient_quota"}, treelang.ModelRateLimitError),
        ({"code": 429}, treelang.ModelRateLimitError),
        ({"code": "401"}, treelang.ModelAuthenticationError),
        ({"code": 502, "type": "server_error"}, treelang.ModelTransportError),
        ({"type": "overloaded_error"}, treelang.ModelTransportError),
        ({"message": "rate_limit_error"}, treelang.ModelTransportError),
    ],
)
def test_an_error_reported_in_band_is_classified_by_its_code_or_type(
    detail: dict[str, Any], kind: type[Exception]
) -> None:
    for body in ({"error": detail}, detail):
        error = translated(InBandError(body))
        assert type(error) is kind
        assert error.status_code is None


def test_where_the_failing_body_cannot_be_read_the_status_is_on_the_context() -> None:
    def read_failing_body() -> None:
        try:
            raise StatusError(Response(429))
        except StatusError:
            raise StallError from None

    with pytest.raises(treelang.ModelRateLimitError) as caught, ErrorTranslator("acme", RULES):
        read_failing_body()
    assert caught.value.status_code == 429


def test_a_failure_that_the_caller_was_handling_is_not_of_this_call() -> None:
    with contextlib.suppress(treelang.ModelTimeoutError):
        try:
            raise StatusError(Response(429))
        except StatusError:
            assert translated(StallError()).status_code is None


def test_errors_of_the_contract_and_what_is_no_exception_pass_unchanged() -> None:
    for passing in (treelang.ModelRateLimitError("slow down"), asyncio.CancelledError("stop"), GeneratorExit()):
        with pytest.raises(type(passing)) as caught, ErrorTranslator("acme", RULES):
            raise passing
        assert caught.value is passing


REJECTION = {"error": {"message": "This response_format type is unavailable now"}}


def test_a_rejection_of_strict_output_is_one_only_where_strict_output_was_asked_for() -> None:
    rejected = StatusError(Response(400, REJECTION))
    assert type(translated(rejected, strict=True)) is treelang.StructuredOutputUnsupportedError
    assert type(translated(rejected)) is treelang.ModelTransportError


@pytest.mark.parametrize(
    ("detail", "code"),
    [
        ({"type": "overloaded_error"}, "overloaded_error"),
        ({"code": "model_not_found", "type": "invalid_request_error"}, "model_not_found"),
        ({"code": 503, "type": "server_error"}, "server_error"),
        ({"code": "Two words"}, None),
        ({"code": "x" * 65}, None),
        ({"code": "sk-a-key"}, None),
        ({"code": "sk-4f9a0b"}, None),
        ({"code": "invalid-argument"}, "invalid-argument"),
        ({"code": "prompt", "type": "server_error"}, "server_error"),
    ],
)
def test_the_code_is_an_identifier_of_the_provider_and_no_echo(detail: dict[str, Any], code: str | None) -> None:
    error = translated(StatusError(Response(500, {"error": detail})), private=lambda: PRIVATE)
    assert error.code == code
    assert str(error) == f"acme failed to serve the request (HTTP 500{f', {code}' if code else ''})."
