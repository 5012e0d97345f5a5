"""The search for secrets finds them wherever an error can carry them: a search that is blind would pass everything."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from treelang import ModelTransportError, ProviderResponseError
from treelang_conformance import canaries
from treelang_conformance.checks.transport._secrets import TOOL_TEXT, leaks, secrets_in

KEY = canaries.API_KEY


@dataclass
class _Slotless:
    headers: dict[str, Any]


@pytest.mark.parametrize(
    "value",
    [
        f"Bearer {KEY}",
        f"Bearer {KEY}".encode(),
        [{"deep": ({KEY},)}],
        {KEY: None},
        SimpleNamespace(request=SimpleNamespace(content=KEY.encode())),
        _Slotless({"authorization": KEY}),
        ValueError(KEY),
    ],
)
def test_a_secret_is_found_at_any_depth(value: Any) -> None:
    assert secrets_in(value) == ["the API key"]


def test_a_value_without_secrets_holds_none() -> None:
    value: list[Any] = ["a tree", b"\xff", None, 7, type, len]
    value.append(value)
    assert secrets_in(value) == []


def _with_attribute() -> ProviderResponseError:
    error = ModelTransportError("failed")
    error.body = {"error": {"message": TOOL_TEXT}}  # type: ignore[attr-defined]  # what a careless adapter does
    return error


def _with_note() -> ProviderResponseError:
    error = ModelTransportError("failed")
    error.add_note(f"the request was {TOOL_TEXT}")
    return error


def _with_context() -> ProviderResponseError:
    error = ModelTransportError("failed")
    error.__context__ = ModelTransportError(TOOL_TEXT)
    return error


@pytest.mark.parametrize(
    "error",
    [
        ModelTransportError(TOOL_TEXT),
        ModelTransportError("failed", code=TOOL_TEXT),
        _with_attribute(),
        _with_note(),
        _with_context(),
    ],
)
def test_an_error_that_carries_a_secret_leaks(error: ProviderResponseError) -> None:
    assert any(place.startswith("the tool argument in its ") for place in leaks(error))


def test_the_cause_is_the_sdks_own_and_is_left_as_it_is() -> None:
    error = ModelTransportError("failed")
    error.__cause__ = error.__context__ = ValueError(KEY)
    assert leaks(error) == []
