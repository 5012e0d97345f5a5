"""How long a provider asks to wait, read from response headers (clause ERR-8)."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+", re.ASCII)


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, finite and >= 0, or `None` where no header says so in a sound form.

    `retry-after-ms` is read first, then `retry-after` as seconds or as an HTTP date; a past date is 0. Header
    names are looked up in lower case, which the header mappings of HTTP libraries take in any case.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    return seconds if seconds is not None else _seconds_until(value)


def _number(value: str | None) -> float | None:
    if value is None or not _NUMBER.fullmatch(value.strip()):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _seconds_until(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        date = parsedate_to_datetime(value.strip())
        # A date without a zone is in UTC, as every HTTP date is.
        moment = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0.0, moment - time.time())
