"""What a provider says of a failure, read from every envelope that is known, and what it means in-band (ERR-11)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from treelang.errors import ModelAuthenticationError, ModelRateLimitError, ModelTransportError

_ErrorKind: TypeAlias = type[ModelTransportError]

_STATUS_KINDS: Mapping[int, type[ModelTransportError]] = {
    401: ModelAuthenticationError,
    403: ModelAuthenticationError,
    429: ModelRateLimitError,
}

_STATUS_NAMES = frozenset(map(str, _STATUS_KINDS))

# Error types and codes that decide the kind of an error reported without a failing status.
_NAMED_KINDS: Mapping[str, type[ModelTransportError]] = {
    **dict.fromkeys(
        (
            "authentication_error",
            "invalid_api_key",
            "invalid_authentication",
            "permission_error",
            "permission_denied",
            "unauthorized",
            "forbidden",
        ),
        ModelAuthenticationError,
    ),
    **dict.fromkeys(
        (
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limited",
            "too_many_requests",
            "insufficient_quota",
        ),
        ModelRateLimitError,
    ),
}

# Words without digits: what keys and identifiers of requests look like never passes.
# Types and codes that providers are known to give; no prompt can lend them a meaning.
_KNOWN = frozenset(_NAMED_KINDS) | {
    "api_error",
    "billing_error",
    "content_filter",
    "context_length_exceeded",
    "internal_server_error",
    "invalid_request_error",
    "invalid_value",
    "model_not_found",
    "not_found_error",
    "overloaded_error",
    "request_too_large",
    "server_error",
    "service_unavailable",
    "timeout_error",
    "tool_use_failed",
    "unsupported_parameter",
    "unsupported_value",
}

_WORD = re.compile(r"[A-Za-z]+", re.ASCII)

_IDENTIFIER = re.compile(r"(?=.{1,64}$)[A-Za-z]+([_.:-][A-Za-z]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """The provider's own words about a failure. They are for classification and never for a message (SEC-1).

    `origin` is the error that a gateway passes on from the provider behind it.
    """

    message: str = ""
    type: str | None = None
    code: str | None = None
    param: str | None = None
    origin: ErrorDetail | None = None

    @classmethod
    def read(cls, body: Any) -> ErrorDetail:
        """Read a decoded error body: `{"error": {...}}`, `{"error": "text"}`, a flat object, or anything else."""
        if not isinstance(body, Mapping):
            return cls(message=body if isinstance(body, str) else "")
        error = body.get("error")
        if isinstance(error, str) and error:
            return cls(message=error)
        fields = error if isinstance(error, Mapping) else body
        return cls(
            message=_text(fields.get("message")) or _text(fields.get("detail")) or "",
            type=_text(fields.get("type")),
            code=_text(fields.get("code")),
            param=_text(fields.get("param")),
            origin=cls._read_origin(fields.get("metadata")),
        )

    @classmethod
    def _read_origin(cls, metadata: Any) -> ErrorDetail | None:
        """OpenRouter keeps the origin's body as text, sometimes as one server-sent event, in `metadata.raw`."""
        raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
        if not isinstance(raw, str):
            return None
        try:
            return cls.read(json.loads(raw.strip().removeprefix("data:")))
        except (ValueError, RecursionError):
            return cls(message=raw)

    @property
    def kind(self) -> _ErrorKind:
        """The error class where no failing status decides: by code, then by type (ERR-11)."""
        for name in (self.code, self.type):
            if name is None:
                continue
            if name in _STATUS_NAMES:
                return _STATUS_KINDS[int(name)]
            if name in _NAMED_KINDS:
                return _NAMED_KINDS[name]
        return ModelTransportError

    def safe_code(self, private: str) -> str | None:
        """The provider's code, else its type: a known one, or an identifier that shares no word with `private` text."""
        for name in (self.code, self.type):
            if name in _KNOWN:
                return name
            if name and _IDENTIFIER.fullmatch(name):
                words = set(_WORD.findall(private.lower()))
                if words.isdisjoint(_WORD.findall(name.lower())):
                    return name
        return None


def kind_of_status(status: int) -> type[ModelTransportError]:
    """The error class of a failing HTTP status, whatever its body says (ERR-1, ERR-2, ERR-5, ERR-14)."""
    return _STATUS_KINDS.get(status, ModelTransportError)


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else None
