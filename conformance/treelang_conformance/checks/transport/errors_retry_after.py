"""ERR-8: how long a provider asks to wait, read from headers of any soundness."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from treelang import ProviderResponseError
from treelang_conformance.cases.transport import Case
from treelang_conformance.neutral import Failure
from treelang_conformance.registry import BOTH, check
from treelang_conformance.violation import about

_MISSING = "no such attribute"


async def _told(case: Case, headers: Mapping[str, str], status: int = 429) -> Any:
    case.answers(case.wire.error(Failure(status, headers=headers)))
    error = case.require_error(await case.call(), ProviderResponseError)
    return getattr(error, "retry_after", _MISSING)


def _is_sound(told: Any) -> bool:
    return told is None or (type(told) in (int, float) and math.isfinite(told) and told >= 0)


_SOUND: dict[str, tuple[Mapping[str, str], float | None]] = {
    "none": ({}, None),
    "seconds": ({"retry-after": "7"}, 7),
    "zero": ({"retry-after": "0"}, 0),
    "fraction": ({"retry-after": "0.5"}, 0.5),
    "huge": ({"retry-after": "1000000000000"}, 1e12),
    "milliseconds": ({"retry-after-ms": "1500"}, 1.5),
    "fraction-of-milliseconds": ({"retry-after-ms": "250.5"}, 250.5 / 1000),
    "milliseconds-before-seconds": ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    "past-date": ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0),
    "past-date-of-the-old-form": ({"retry-after": "Sunday, 06-Nov-94 08:49:37 GMT"}, 0),
}


@check(
    "ERR-8",
    modes=BOTH,
    hint="SDKs do not put these headers on their exceptions: read them from the response, `retry-after-ms` first.",
)
async def a_sound_header_is_read(case: Case) -> None:
    """`retry_after` is the seconds that the headers ask for, and `None` without any."""
    for name, (headers, seconds) in _SOUND.items():
        told = await _told(case, headers)
        with about(f"the headers {name!r}"):
            case.require(
                _is_sound(told) and told == seconds,
                expected=f"retry_after {seconds!r}",
                happened=f"it is {told!r}",
            )


_AHEAD = timedelta(seconds=3600)
_SLACK = 60.0
"""Seconds by which a reading may differ: a date has whole seconds, and time goes on; a wrong zone is half an hour."""

_DATE_FORMS: dict[str, str] = {
    "rfc-9110": "%a, %d %b %Y %H:%M:%S GMT",
    "rfc-850": "%A, %d-%b-%y %H:%M:%S GMT",
    "asctime": "%a %b %d %H:%M:%S %Y",
}


@check(
    "ERR-8",
    modes=BOTH,
    hint="HTTP dates have three forms, all in GMT; subtracting the current time needs two dates with a zone.",
)
async def a_date_ahead_is_seconds_from_now(case: Case) -> None:
    """`retry_after` is the time until an HTTP date of any of the three forms, taken as GMT."""
    for name, form in _DATE_FORMS.items():
        told = await _told(case, {"retry-after": (datetime.now(UTC) + _AHEAD).strftime(form)})
        with about(f"a date in the form of {name}"):
            case.require(
                _is_sound(told) and told is not None and abs(told - _AHEAD.total_seconds()) <= _SLACK,
                expected=f"retry_after of about {_AHEAD.total_seconds():g}",
                happened=f"it is {told!r}",
            )


_MALFORMED: dict[str, str] = {
    "negative": "-5",
    "nan": "nan",
    "inf": "inf",
    "infinity": "Infinity",
    "overflowing": "1e999",
    "too-many-digits": "9" * 5000,
    "words": "soon",
    "unit": "5s",
    "underscored": "1_000",
    "hexadecimal": "0x10",
    "empty": "",
    "impossible-date": "Mon, 32 Foo 2026 25:61:61 GMT",
    "endless-year": "Fri, 31 Dec 99999 23:59:59 GMT",
    "impossible-zone": "Fri, 31 Dec 2027 23:59:59 +9999",
    "unbalanced-date": "Fri, 31 Dec (2027",
}


@check(
    "ERR-8",
    modes=BOTH,
    hint="float() takes nan, inf, 1e999 and 1_000, and parsers of dates raise more than ValueError: accept plain "
    "decimal numbers and sound dates alone.",
)
async def a_malformed_header_is_none(case: Case) -> None:
    """`retry_after` is `None` for a malformed, negative or infinite value of either header, and nothing else breaks."""
    for name, value in _MALFORMED.items():
        for header in ("retry-after", "retry-after-ms"):
            told = await _told(case, {header: value})
            with about(f"the {name} value {value[:40]!r} of {header}"):
                case.require(told is None, expected="retry_after None", happened=f"it is {told!r}")


_DOUBTFUL: dict[str, Mapping[str, str]] = {
    "malformed milliseconds beside sound seconds": {"retry-after-ms": "soon", "retry-after": "9"},
    "a list of two": {"retry-after": "3, 5"},
    "a date without a zone": {"retry-after": "Fri, 31 Dec 2027 23:59:59"},
    "a date of another zone": {"retry-after": "Fri, 31 Dec 2027 23:59:59 +0530"},
    "the last date": {"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"},
    "the first date": {"retry-after": "Mon, 01 Jan 0001 00:00:00 GMT"},
    "white space around it": {"retry-after": " \t 5 "},
}


@check(
    "ERR-8",
    modes=BOTH,
    hint="Comparing or subtracting a date without a zone and one with a zone raises TypeError.",
)
async def a_doubtful_header_is_a_number_or_none(case: Case) -> None:
    """`retry_after` is a finite number >= 0 or `None` for a value that can be read in more than one way."""
    for name, headers in _DOUBTFUL.items():
        told = await _told(case, headers)
        with about(name):
            case.require(_is_sound(told), expected="a finite number >= 0 or None", happened=f"it is {told!r}")


@check(
    "ERR-8",
    modes=BOTH,
    hint="Servers that are overloaded send the header with 503 and 529 too. "
    "How long is too long to wait is for the caller to say.",
)
async def any_failing_status_can_ask_to_wait(case: Case) -> None:
    """`retry_after` is read whatever the failing status, however short or long it is."""
    for status, seconds in itertools.product((400, 401, 408, 500, 503, 529), (7, 604800.5)):
        told = await _told(case, {"retry-after": str(seconds)}, status)
        with about(f"status {status}"):
            case.require(told == seconds, expected=f"retry_after {seconds}", happened=f"it is {told!r}")
