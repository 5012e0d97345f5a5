"""What a case is, and how it is played: over a real socket, through the adapter of its wire."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Protocol, cast

import pytest

from tests.adapters import ADAPTERS, CLIENT_TIMEOUT, Adapter, call
from treelang import ModelRequest, ModelUsage, ProviderResponseError
from treelang_conformance import canaries
from treelang_conformance.provider.script import Script
from treelang_conformance.provider.server import Provider

P = ParamSpec("P")

UNREPORTED = ModelUsage()
"""What is published where the provider reports nothing."""

_BOUND = 10.0
"""Seconds after which a case counts as hanging."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call: what the provider sends, and how the call must end.

    Attributes:
        wire: Through the adapter of which wire.
        sends: What the provider plays.
        text: What is returned, or yielded before the error.
        usage: What is published; `None` where the fault may swallow what was already sent.
        error: Exactly this class is raised; `None` for a normal end.
        attributes: What else the error says, beside the provider's name.
        stream: Whether it is a stream; `None` for both modes.
        strict: Whether the request asks for strict output.
        client_timeout: Seconds for which the client waits.
    """

    wire: str
    sends: Script
    text: str = ""
    usage: ModelUsage | None = UNREPORTED
    error: type[ProviderResponseError] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    stream: bool | None = True
    strict: bool = False
    client_timeout: float = CLIENT_TIMEOUT


@dataclass(frozen=True, slots=True)
class Case:
    """A reported bug and the exchanges that would show it."""

    id: str
    source: str
    symptom: str
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The bug that a test of its own is about."""

    id: str
    source: str


class ReportedTest(Protocol[P]):
    """A test function that knows its report."""

    report: Report

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None: ...


def bug(case_id: str, source: str) -> Callable[[Callable[P, Coroutine[Any, Any, None]]], ReportedTest[P]]:
    """Make a coroutine function the test of a reported bug; it runs in an event loop of its own, bounded in time."""

    def decorate(test: Callable[P, Coroutine[Any, Any, None]]) -> ReportedTest[P]:
        @functools.wraps(test)
        def run_test(*args: P.args, **kwargs: P.kwargs) -> None:
            run(test(*args, **kwargs))

        reported = cast("ReportedTest[P]", run_test)
        reported.report = Report(case_id, source)
        return reported

    return decorate


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in an event loop of its own; a hang is a failure."""

    async def bounded() -> None:
        async with asyncio.timeout(_BOUND):
            await coroutine

    asyncio.run(bounded())


def exchanges(cases: Iterable[Case]) -> list[Any]:
    """Every exchange of every case and mode, as parameters of a test."""
    return [
        pytest.param(exchange, stream, id=f"{case.id}-{number}-{exchange.wire}-{'stream' if stream else 'complete'}")
        for case in cases
        for number, exchange in enumerate(case.exchanges, 1)
        for stream in ((False, True) if exchange.stream is None else (exchange.stream,))
    ]


def request_for(adapter: Adapter, **changes: Any) -> ModelRequest:
    """A sound request with canaries, with keys replaced or added."""
    return {
        "model": adapter.model,
        "messages": [
            {"role": "system", "content": canaries.SYSTEM_TEXT},
            {"role": "user", "content": canaries.USER_TEXT},
        ],
        **changes,
    }


STRICT: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "tree",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {canaries.SCHEMA_TEXT: {"type": "string"}},
            "required": [canaries.SCHEMA_TEXT],
            "additionalProperties": False,
        },
    },
}
"""A response format that asks for strict output."""


def disclosed(error: BaseException) -> list[str]:
    """What an error tells that it must not."""
    shown = f"{error!s} {error!r} {error.args!r} {vars(error)!r}"
    return [name for name, canary in canaries.ALL.items() if canary in shown]


async def play(exchange: Exchange, *, stream: bool) -> None:
    """Make the call of an exchange and judge how it ended.

    In every case there is exactly one request, the connection is released, and an error discloses nothing.
    """
    adapter = ADAPTERS[exchange.wire]
    changes = {"response_format": STRICT} if exchange.strict else {}
    with Provider() as provider:
        provider.reply(exchange.sends)
        async with adapter.connected(provider.url, client_timeout=exchange.client_timeout) as transport:
            outcome = await call(transport, request_for(adapter, **changes), stream=stream)
            await provider.released()
        assert len(provider.requests) == 1
    error = outcome.error
    assert type(error) is (exchange.error or type(None)), outcome
    assert outcome.text == exchange.text
    if exchange.usage is not None:
        assert outcome.usage == exchange.usage
        assert outcome.usage is not None
        assert outcome.usage.reported is (exchange.usage != UNREPORTED)
    if isinstance(error, ProviderResponseError):
        expected = {"provider": exchange.wire.partition("-")[0], "status_code": None, **exchange.attributes}
        assert {name: getattr(error, name) for name in expected} == expected
        assert disclosed(error) == []
