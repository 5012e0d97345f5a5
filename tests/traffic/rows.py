"""Recorded exchanges, read from a file of one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = frozenset(
    {"text", "error", "refusal", "content_filter", "incomplete", "tool_calls", "empty", "other", "pending"}
)
"""What an independent parser may have found an exchange to be."""


class BrokenTrafficError(Exception):
    """A file that cannot be replayed; the message is one line that says where it is broken."""


@dataclass(frozen=True, slots=True)
class ReportedError:
    """What a provider said of a failure, as an independent parser read it."""

    type: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded exchange and what an independent parser made of it.

    Attributes:
        id: Its name in the file.
        api: The provider's protocol, named like a wire.
        stream: Whether the request asked for a stream.
        strict: Whether the request asked for strict structured output.
        status: HTTP status of the response.
        headers: Those of the response that were kept.
        body: The response's body, its content encoding removed.
        kind: What the answer is, one of `KINDS`.
        text: Its text; empty where it has none.
        prompt_tokens: The provider's own counter; `None` where it reported none.
        completion_tokens: The same.
        error: What the provider said of a failure.
    """

    id: str
    api: str
    stream: bool
    strict: bool
    status: int
    headers: Mapping[str, str]
    body: bytes
    kind: str
    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    error: ReportedError


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file.

    Raises:
        BrokenTrafficError: The file cannot be read, is empty, or holds something else than rows.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            rows = list(_read_lines(lines, path))
    except OSError as error:
        raise BrokenTrafficError(f"{path}: {error.strerror}; name a file of recorded traffic") from error
    except UnicodeDecodeError as error:
        raise BrokenTrafficError(f"{path}: not UTF-8 text, so no file of recorded traffic") from error
    if not rows:
        raise BrokenTrafficError(f"{path}: holds no row")
    return rows


def _read_lines(lines: Iterator[str], path: Path) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        try:
            yield _row(json.loads(line))
        except KeyError as error:
            raise BrokenTrafficError(f"{path}, line {number}: the field {error} is missing") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise BrokenTrafficError(f"{path}, line {number}: not a row of recorded traffic ({error})") from error


def _row(row: dict[str, Any]) -> Row:
    response, expected = row["response"], row["expected"]
    if expected["kind"] not in KINDS:
        raise ValueError(f"unknown kind {expected['kind']!r}")
    error = expected.get("error") or {}
    return Row(
        id=row["id"],
        api=row["api"],
        stream=row["stream"],
        strict=_is_strict((row.get("request") or {}).get("body")),
        status=response["status"],
        headers=dict(response["headers"]),
        body=response["body"].encode(),
        kind=expected["kind"],
        text=expected["text"] or "",
        prompt_tokens=expected["prompt_tokens"],
        completion_tokens=expected["completion_tokens"],
        error=ReportedError(*(str(error.get(name) or "") for name in ("type", "code", "message"))),
    )


def _is_strict(request: Any) -> bool:
    """Whether a recorded request asked for a JSON Schema, in the form of any of the protocols."""
    if not isinstance(request, dict):
        return False
    nested = ((request.get("text") or {}).get("format"), (request.get("output_config") or {}).get("format"))
    formats = (request.get("response_format"), request.get("output_format"), *nested)
    return any(isinstance(form, dict) and form.get("type") == "json_schema" for form in formats)
