"""What all cases need before the clock runs."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture(scope="session", autouse=True)
def _sdks() -> None:
    """Load the SDKs outside the bound of a case: that alone takes seconds on a busy machine."""
    for name in ("openai", "anthropic"):
        importlib.import_module(name)
