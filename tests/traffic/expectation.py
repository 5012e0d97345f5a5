"""What the contract makes of a recorded exchange, worked out from the independent parser's reading of it.

Nothing of the adapters is used here: what they recognise by tables and anchored patterns of their own is said a
second time, more coarsely, so that each is a check of the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

from tests.traffic.rows import Row
from treelang import (
    ModelAuthenticationError,
    ModelRateLimitError,
    ModelTransportError,
    ModelUsage,
    ProviderResponseError,
    StructuredOutputUnsupportedError,
)
from treelang_conformance.outcome import Outcome, shortened, type_name

_REJECTION = re.compile(
    r"'json_schema' is not supported|"
    r"[Ii]nvalid schema for (response.format|text\.format)|"
    r"output_config\.format.*not (supported|permitted)|"
    r"grammar is too large|too complex for compilation|too many optional parameters"
)
"""Words with which a provider rejects a strict schema; they count for strict requests alone."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """How a call must end.

    Attributes:
        error: Exactly this class is raised; `None` for a normal end.
        text: What is returned, or yielded before the end; `None` where a completion fails and so yields nothing.
        usage: What is published.
        status: The error's `status_code`.
    """

    error: type[ProviderResponseError] | None
    text: str | None
    usage: ModelUsage
    status: int | None

    def disagreement(self, outcome: Outcome, requests: int) -> str:
        """What is not as expected, as `expected ..., got ...`; empty where all is."""
        if requests != 1:
            return f"expected 1 request, got {requests}"
        if type(outcome.error) is not (self.error or type(None)):
            expected = self.error.__name__ if self.error else f"the text {shortened(self.text, 60)}"
            got = type_name(outcome.error) if outcome.error else f"the text {shortened(outcome.text, 60)}"
            return f"expected {expected}, got {got}"
        if self.text is not None and outcome.text != self.text:
            return f"expected the text {shortened(self.text, 60)}, got {shortened(outcome.text, 60)}"
        if outcome.usage != self.usage:
            return f"expected {self.usage}, got {outcome.usage}"
        if outcome.usage is not None and outcome.usage.reported is not self.usage.reported:
            return f"expected usage with reported={self.usage.reported}, got {outcome.usage}"
        if isinstance(outcome.error, ProviderResponseError) and outcome.error.status_code != self.status:
            return f"expected status_code {self.status}, got {outcome.error.status_code}"
        return ""


def expectation(row: Row) -> Expectation:
    """How the call that meets this exchange must end."""
    error = None if row.kind == "text" else _error(row) if row.kind == "error" else ProviderResponseError
    return Expectation(
        error=error,
        text=row.text if row.stream or error is None else None,
        usage=ModelUsage(
            row.prompt_tokens or 0,
            row.completion_tokens or 0,
            reported=row.prompt_tokens is not None or row.completion_tokens is not None,
        ),
        status=row.status if row.status >= HTTPStatus.BAD_REQUEST else None,
    )


def _error(row: Row) -> type[ProviderResponseError]:
    status = row.status
    if status < HTTPStatus.BAD_REQUEST:
        return _in_band_error(f"{row.error.type} {row.error.code}")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ModelAuthenticationError
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ModelRateLimitError
    rejects = status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY) and _REJECTION.search(
        row.error.message
    )
    return StructuredOutputUnsupportedError if row.strict and rejects else ModelTransportError


def _in_band_error(type_and_code: str) -> type[ProviderResponseError]:
    if re.search(r"authentication|permission|api_key|\b40[13]\b", type_and_code):
        return ModelAuthenticationError
    if re.search(r"rate_limit|quota|\b429\b", type_and_code):
        return ModelRateLimitError
    return ModelTransportError
