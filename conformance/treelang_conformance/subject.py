"""What is under test: a factory of transports, and what its author declares about them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from treelang import ModelTransport
from treelang_conformance.clauses import unknown
from treelang_conformance.endpoint import Endpoint, TransportFactory

FEATURES = {"usage": "consume_usage", "capabilities": "capabilities"}
"""What a transport may offer beyond the two calls, by the method that offers it."""


class UnknownFeatureError(LookupError):
    """A declared feature does not exist; the message names the nearest that does."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A transport under test.

    Attributes:
        make: `make(endpoint) -> transport`, sync or async. Called once or more for every check.
        name: What reports call it; the type of its transports where empty.
        target: Where the factory is found, for instance `acme.testing:make`; empty where it has no such name.
        close: `close(transport)`, sync or async; without it `aclose()` or `close()` of the transport is called
            where it has one.
        features: What the transport offers (`usage`, `capabilities`). `None` asks the transport itself; declare
            them, and a method that is lost one day is a violation instead of a check that is not applicable.
    """

    make: TransportFactory
    name: str = ""
    target: str = ""
    close: Callable[[Any], Awaitable[None] | None] | None = None
    features: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for feature in sorted(self.features or ()):
            if feature not in FEATURES:
                raise UnknownFeatureError(unknown("feature", feature, FEATURES))

    async def build(self, endpoint: Endpoint) -> ModelTransport:
        """Make a transport for `endpoint`; what the factory raises passes."""
        made = self.make(endpoint)
        return await made if inspect.isawaitable(made) else made

    async def dispose(self, transport: ModelTransport) -> None:
        """Close a transport in the way that it offers, if any."""
        close = self.close
        if close is not None:
            closing = close(transport)
        else:
            method = getattr(transport, "aclose", None) or getattr(transport, "close", None)
            closing = method() if callable(method) else None
        if inspect.isawaitable(closing):
            await closing

    def offers(self, feature: str, transport: ModelTransport) -> bool:
        """Whether checks that require `feature` apply."""
        if self.features is not None:
            return feature in self.features
        return callable(getattr(transport, FEATURES[feature], None))
