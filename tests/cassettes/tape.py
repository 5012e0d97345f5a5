"""The tape recorder: vcrpy, set up so that nothing private stays on a cassette and nothing wrong is replayed.

What is kept is on a list; everything else is dropped. vcrpy itself would keep credentials, and would match a
request by its address alone, which differs from run to run and says nothing of the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import vcr  # type: ignore[import-untyped]  # it has no types
from vcr.record_mode import RecordMode  # type: ignore[import-untyped]  # it has no types

KEPT_REQUEST_HEADERS = frozenset({"accept", "anthropic-version", "content-type"})
KEPT_RESPONSE_HEADERS = frozenset({"content-type", "retry-after", "retry-after-ms"})

SECRET_SHAPES: Mapping[str, re.Pattern[str]] = {
    "an API key": re.compile(r"\b[sp]k[-_][\w*-]{6,}"),
    "a bearer token": re.compile(r"\bbearer +[\w.~+/-]+", re.IGNORECASE),
    "a credential's header": re.compile(
        r"\b(proxy-)?authorization\b|\b(x-)?api-key['\"]? *:|\bcookie\b", re.IGNORECASE
    ),
    "an organization, a project or an account": re.compile(r"\b(org|proj|user|acct)[-_][A-Za-z0-9]{6,}"),
    "an e-mail address": re.compile(r"[\w.+-]+@[\w-]+\.\w+"),
}

_SCRUBBED = "[scrubbed]"


def tape(path: Path, *, recording: bool = False) -> AbstractContextManager[Any]:
    """A cassette: while it is in place, every HTTP request is recorded on it, or else answered from it."""
    recorder = vcr.VCR(
        record_mode=RecordMode.ONCE if recording else RecordMode.NONE,
        match_on=("method", "path", "body"),
        before_record_request=_scrub_request,
        before_record_response=_scrub_response,
        decode_compressed_response=True,
    )
    cassette: AbstractContextManager[Any] = recorder.use_cassette(str(path))
    return cassette


def _scrub_request(request: Any) -> Any:
    # Host and port are the loopback provider's of one run, or a gateway's.
    request.uri = f"https://provider.invalid{request.path}"
    request.headers = _kept(request.headers, KEPT_REQUEST_HEADERS)
    request.body = _scrub(request.body)
    return request


def _scrub_response(response: dict[str, Any]) -> dict[str, Any]:
    headers, body = _kept(response["headers"], KEPT_RESPONSE_HEADERS), _scrub(response["body"]["string"])
    return {**response, "headers": headers, "body": {"string": body}}


def _kept(headers: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name.lower(): value for name, value in headers.items() if name.lower() in names}


def _scrub(body: bytes) -> bytes:
    # What is no text cannot be read, by us or by a reviewer, and so must not be kept.
    return scrub(body.decode()).encode()


def scrub(text: str) -> str:
    """The text with everything replaced that looks like a secret."""
    for shape in SECRET_SHAPES.values():
        text = shape.sub(_SCRUBBED, text)
    return text
