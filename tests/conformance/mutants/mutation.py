"""What mutants are made of: a conformant adapter of the wire in question, of which a mutant overrides one thing.

A mutant is a class that names its misbehaviour, written once for every wire that it is run on. `MUTANTS` holds them
all; `Mutant.subject` joins one with the adapter of its wire into what the kit runs.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from inspect import getdoc
from typing import Any, ClassVar, NoReturn, TypeVar

from tests.conformance.mutants.client import Connection, LeanClient, Response
from treelang import (
    AnthropicTransport,
    ErrorTranslator,
    ModelRequest,
    OpenAIResponsesTransport,
    OpenAITransport,
    ProviderResponseError,
)
from treelang.transports.request import CheckedRequest
from treelang.transports.sdk import SDKTransport
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.registry import SuiteName
from treelang_conformance.subject import AnySubject, NegotiatorSubject, Subject, ToolProviderSubject

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"

_ADAPTERS: Mapping[str, type[SDKTransport]] = {
    CHAT: OpenAITransport,
    RESPONSES: OpenAIResponsesTransport,
    MESSAGES: AnthropicTransport,
}

# Here and not in the first check on a wire: to load an SDK can take longer than a check lets a call wait.
for _adapter in _ADAPTERS.values():
    importlib.import_module(_adapter._sdk)


class Mutation(SDKTransport):
    """An adapter with nothing broken yet.

    Override `complete` and `_stream` (an asynchronous generator) to break what a caller sees, the mapping's methods
    to break the wire's form, and the classes below to break the exchange or the translation of errors.
    """

    client_class: ClassVar[type[LeanClient]] = LeanClient
    response_class: ClassVar[type[Response]] = Response
    translator_class: ClassVar[type[ErrorTranslator]] = ErrorTranslator

    def __init__(self, endpoint: Endpoint) -> None:
        client = self.client_class(endpoint)
        client.response_class = self.response_class
        super().__init__(client=client)

    async def aclose(self) -> None:
        await self._client.close()

    def _translator(self, request: CheckedRequest) -> ErrorTranslator:
        translator = super()._translator(request)
        translator.__class__ = self.translator_class  # the adapter builds it, with all that it has to know
        return translator


class ChunkMutation(Mutation):
    """An adapter whose chunks can be changed on their way out."""

    def altered(self, chunks: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
        """What to yield, as an asynchronous generator over what the adapter yields."""
        raise NotImplementedError

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        async with (
            contextlib.aclosing(super()._stream(request)) as chunks,
            contextlib.aclosing(self.altered(chunks)) as altered,
        ):
            async for chunk in altered:
                yield chunk


class LeakingClient(LeanClient):
    """A client that never lets go of some connections."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._leaked: list[Connection] = []

    def leaks(self, connection: Connection, leaving: BaseException | None) -> bool:
        """Whether to keep a connection that should be released, given the exception that ends its exchange."""
        raise NotImplementedError

    def release(self, connection: Connection) -> None:
        if self.leaks(connection, sys.exception()):
            self._leaked.append(connection)
        else:
            super().release(connection)

    async def close(self) -> None:
        while self._leaked:
            self._leaked.pop().abort()
        await super().close()


class Moment(Enum):
    """When a call failed."""

    COMPLETING = "in complete"
    BEFORE_A_CHUNK = "in a stream that has yielded nothing"
    AFTER_A_CHUNK = "in a stream that has yielded something"


class ErrorMutation(Mutation):
    """An adapter whose errors can be changed on their way out."""

    def changed(self, error: ProviderResponseError, moment: Moment) -> BaseException | None:
        """The error to raise in the place of `error`, which may be the same one; `None` for a normal end."""
        raise NotImplementedError

    async def complete(self, request: ModelRequest) -> str:
        try:
            return await super().complete(request)
        except ProviderResponseError as error:
            self._raise(error, Moment.COMPLETING)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        moment = Moment.BEFORE_A_CHUNK
        async with contextlib.aclosing(super()._stream(request)) as chunks:
            while True:
                try:
                    chunk = await anext(chunks, None)
                except ProviderResponseError as error:
                    if self.changed(error, moment) is None:
                        return
                    self._raise(error, moment)
                if chunk is None:
                    return
                yield chunk
                moment = Moment.AFTER_A_CHUNK

    def _raise(self, error: ProviderResponseError, moment: Moment) -> NoReturn:
        changed = self.changed(error, moment)
        if changed is error:
            raise error
        raise changed from error.__cause__


def remade(
    error: ProviderResponseError, kind: type[ProviderResponseError] | None = None, text: str | None = None, **told: Any
) -> ProviderResponseError:
    """An error like another one, but of another kind, text or attributes."""
    attributes = {name: getattr(error, name) for name in ("provider", "status_code", "retry_after", "code")}
    return (kind or type(error))(str(error) if text is None else text, **attributes | told)


@dataclass(frozen=True)
class Mutant:
    """One broken adapter on one wire, or one broken subject of a suite without wires.

    Attributes:
        mutation: What is broken: a `Mutation`, a class of negotiators, or one of providers that is made of tools.
        clauses: The clauses that it violates, as every one of them has to find.
        touches: Further clauses that cannot but fail, because they look at the same behaviour: clause to reason.
        wire: The protocol that it speaks; empty in suites without wires.
        suite: The suite that has to find it.
    """

    mutation: type[Any]
    clauses: tuple[str, ...]
    touches: Mapping[str, str] = field(hash=False)
    wire: str = ""
    suite: SuiteName = SuiteName.TRANSPORT

    @property
    def name(self) -> str:
        """The class's name in words with hyphens."""
        return re.sub(r"(?<!^)(?=[A-Z])|(?<=[a-z])(?=\d)", "-", self.mutation.__name__).lower()

    @property
    def id(self) -> str:
        """The name and the wire, or else the suite."""
        return f"{self.name}@{self.wire or self.suite}"

    @property
    def breaks(self) -> str:
        """What is broken, in one sentence."""
        return (getdoc(self.mutation) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def fails(self) -> frozenset[str]:
        """Every clause that has to fail; all others have to hold."""
        return frozenset(self.clauses) | self.touches.keys()

    @cached_property
    def subject(self) -> AnySubject:
        """What the kit runs."""
        if self.suite is SuiteName.NEGOTIATOR:
            return NegotiatorSubject(self.mutation, name=self.id)
        if self.suite is SuiteName.TOOLS:
            return ToolProviderSubject(self.mutation, name=self.id)
        joined = type(self.mutation.__name__, (self.mutation, _ADAPTERS[self.wire]), {})
        return Subject(joined, name=self.id, features=frozenset({"usage", "capabilities"}))


MUTANTS: list[Mutant] = []

M = TypeVar("M", bound=type[Any])


def mutant(
    *clauses: str,
    wires: tuple[str, ...] = (CHAT,),
    touches: Mapping[str, str] | None = None,
    suite: SuiteName = SuiteName.TRANSPORT,
) -> Callable[[M], M]:
    """Register a mutation.

    Args:
        clauses: What it violates.
        wires: What it is run on, once each, where the suite has wires.
        touches: Clauses that fail besides, each with the reason why they cannot be spared.
        suite: The suite that has to find it.
    """

    def register(mutation: M) -> M:
        on = wires if suite.has_wire else ("",)
        MUTANTS.extend(Mutant(mutation, clauses, touches or {}, wire, suite) for wire in on)
        return mutation

    return register
