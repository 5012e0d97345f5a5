"""The error hierarchy: who is whose kind, and what survives copying (clause ERR-13)."""

from __future__ import annotations

import copy
import pickle

import pytest

import treelang

MODEL_ERRORS = [
    treelang.ProviderResponseError,
    treelang.ModelTransportError,
    treelang.ModelAuthenticationError,
    treelang.ModelRateLimitError,
    treelang.ModelTimeoutError,
    treelang.ModelConnectionError,
    treelang.ModelRequestError,
    treelang.StructuredOutputUnsupportedError,
]


@pytest.mark.parametrize("kind", MODEL_ERRORS)
@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301  # our own bytes
def test_errors_survive_copies_with_their_attributes(kind: type[treelang.ProviderResponseError], clone: object) -> None:
    error = kind("Acme failed.", provider="acme", status_code=429, retry_after=1.5, code="slow_down")
    twin = clone(error)  # type: ignore[operator]  # a parameter
    assert type(twin) is kind
    assert str(twin) == "Acme failed."
    assert vars(twin) == {"provider": "acme", "status_code": 429, "retry_after": 1.5, "code": "slow_down"}


@pytest.mark.parametrize(
    ("kind", "parents"),
    [
        (treelang.ProviderResponseError, {treelang.TreelangError, RuntimeError}),
        (treelang.ModelTransportError, {treelang.ProviderResponseError}),
        (treelang.ModelAuthenticationError, {treelang.ModelTransportError}),
        (treelang.ModelRateLimitError, {treelang.ModelTransportError}),
        (treelang.ModelTimeoutError, {treelang.ModelTransportError, TimeoutError}),
        (treelang.ModelConnectionError, {treelang.ModelTransportError, ConnectionError}),
        (treelang.ModelRequestError, {treelang.ProviderResponseError, ValueError}),
        (treelang.StructuredOutputUnsupportedError, {treelang.ProviderResponseError}),
        (treelang.MissingDependencyError, {treelang.TreelangError, ImportError}),
    ],
)
def test_each_error_is_of_the_kinds_that_callers_catch(kind: type[Exception], parents: set[type[Exception]]) -> None:
    assert set(kind.__bases__) == parents


def test_what_is_not_known_is_none() -> None:
    assert vars(treelang.ModelTransportError("Acme failed.")) == dict.fromkeys(
        ("provider", "status_code", "retry_after", "code")
    )
