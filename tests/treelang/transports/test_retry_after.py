"""How long to wait, read from any header (clause ERR-8)."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelang import parse_retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "99999999999"}, 99999999999.0),
    ],
)
def test_sound_values_are_seconds(headers: dict[str, str], seconds: float) -> None:
    assert parse_retry_after(headers) == seconds


@pytest.mark.parametrize(
    "value",
    ["", "soon", "-1", "-0.5", "+5", "nan", "inf", "-inf", "1e3", "1_000", "9" * 400, "1, 2", "٣", "Wed, 99 Oct 2015"],
)
def test_malformed_values_are_none(value: str) -> None:
    assert parse_retry_after({"retry-after": value, "retry-after-ms": value}) is None


def test_no_header_is_none() -> None:
    assert parse_retry_after({}) is None


@pytest.mark.parametrize("zone", [" GMT", " +0000", ""])
def test_a_date_ahead_is_the_time_until_then_and_without_zone_it_is_in_utc(zone: str) -> None:
    ahead = format_datetime(datetime.now(UTC) + timedelta(hours=1)).removesuffix(" +0000") + zone
    seconds = parse_retry_after({"retry-after": ahead})
    assert seconds is not None
    assert 3500 < seconds <= 3600


@given(st.text(), st.text())
def test_no_header_whatever_raises_or_gives_anything_but_finite_seconds(first: str, second: str) -> None:
    seconds = parse_retry_after({"retry-after-ms": first, "retry-after": second})
    assert seconds is None or (math.isfinite(seconds) and seconds >= 0)
