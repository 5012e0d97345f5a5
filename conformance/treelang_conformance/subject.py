"""What is under test: a factory, and what its author declares about what it makes."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from treelang import ModelTransport
from treelang_conformance.clauses import unknown
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.hosting import HostedTool
from treelang_conformance.registry import SuiteName

if TYPE_CHECKING:  # they bring the program formats and pydantic's models, which a run of a transport does not wait for
    from treelang import ModelCapabilityNegotiator, ToolProvider

FEATURES = {"usage": "consume_usage", "capabilities": "capabilities"}
"""What a transport may offer beyond the two calls, by the method that offers it."""


class UnknownFeatureError(LookupError):
    """A declared feature does not exist; the message names the nearest that does."""


@dataclass(frozen=True, slots=True)
class AnySubject:
    """What every kind of subject has.

    Attributes:
        make: The factory, sync or async. Called once or more for every check.
        name: What reports call it; the type of what it makes where empty.
        target: Where the factory is found, for instance `acme.testing:make`; empty where it has no such name.
        close: `close(made)`, sync or async; without it `aclose()` or `close()` of what was made is called where it has
            one.
    """

    suite: ClassVar[SuiteName]
    """The suite that is run where none is named."""

    make: Callable[..., Any]
    name: str = ""
    target: str = ""
    close: Callable[[Any], Awaitable[None] | None] | None = None

    async def dispose(self, made: Any) -> None:
        """Close what was made in the way that it offers, if any."""
        close = self.close
        if close is not None:
            closing = close(made)
        else:
            method = getattr(made, "aclose", None) or getattr(made, "close", None)
            closing = method() if callable(method) else None
        if inspect.isawaitable(closing):
            await closing

    async def _made(self, *arguments: object) -> Any:
        made = self.make(*arguments)
        return await made if inspect.isawaitable(made) else made


@dataclass(frozen=True, slots=True)
class Subject(AnySubject):
    """A transport under test, made by `make(endpoint)`.

    Attributes:
        features: What the transport offers (`usage`, `capabilities`). `None` asks the transport itself; declare
            them, and a method that is lost one day is a violation instead of a check that is not applicable.
    """

    suite: ClassVar[SuiteName] = SuiteName.TRANSPORT

    features: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for feature in sorted(self.features or ()):
            if feature not in FEATURES:
                raise UnknownFeatureError(unknown("feature", feature, FEATURES))

    async def build(self, endpoint: Endpoint) -> ModelTransport:
        """Make a transport for `endpoint`; what the factory raises passes."""
        transport: ModelTransport = await self._made(endpoint)
        return transport

    def offers(self, feature: str, transport: ModelTransport) -> bool:
        """Whether checks that require `feature` apply."""
        if self.features is not None:
            return feature in self.features
        return callable(getattr(transport, FEATURES[feature], None))


@dataclass(frozen=True, slots=True)
class NegotiatorSubject(AnySubject):
    """A negotiator of capabilities under test, made by `make()`; its class will do."""

    suite: ClassVar[SuiteName] = SuiteName.NEGOTIATOR

    async def build(self) -> ModelCapabilityNegotiator:
        """Make a negotiator that remembers nothing; what the factory raises passes."""
        negotiator: ModelCapabilityNegotiator = await self._made()
        return negotiator


@dataclass(frozen=True, slots=True)
class ToolProviderSubject(AnySubject):
    """A tool provider under test, made by `make(tools)` so that it offers exactly the tools that it is given.

    The factory may return an asynchronous context manager, for instance one that starts a server and stops it.
    """

    suite: ClassVar[SuiteName] = SuiteName.TOOLS

    @contextlib.asynccontextmanager
    async def hosting(self, tools: Sequence[HostedTool]) -> AsyncIterator[ToolProvider]:
        """A provider of `tools` for as long as the block lasts; what the factory raises passes.

        Args:
            tools: What it is to offer.
        """
        made = await self._made(tools)
        if isinstance(made, AbstractAsyncContextManager):
            async with made as provider:
                yield provider
        else:
            try:
                yield made
            finally:
                await self.dispose(made)


def subject_type(suite: SuiteName) -> type[AnySubject]:
    """What a suite is run against."""
    if suite.has_wire:
        return Subject
    return NegotiatorSubject if suite is SuiteName.NEGOTIATOR else ToolProviderSubject
