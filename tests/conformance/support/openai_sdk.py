"""OpenAI's own SDK on the loopback provider, for the tests of both wires that it speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import openai
import pytest

from tests.conformance.loopback import TLS_CONTEXT, run
from treelang_conformance.neutral import Failure
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.base import Wire

Call: TypeAlias = Callable[[Provider], Awaitable[Any]]


@asynccontextmanager
async def connected(provider: Provider) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client that sends its requests to the provider, once each."""
    async with openai.AsyncOpenAI(
        api_key="sk-test",
        base_url=f"{provider.url}/v1",
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(verify=TLS_CONTEXT),
    ) as client:
        yield client


def require_raised(wire: Wire, failure: Failure, call: Call) -> None:
    """The SDK raises a failing response, and reads of it what the failure says."""

    async def fail(provider: Provider) -> None:
        await call(provider)

    with Provider() as provider:
        provider.reply(wire.error(failure))
        with pytest.raises(openai.APIStatusError) as caught:
            run(fail(provider))
    assert caught.value.status_code == failure.status
    assert caught.value.request_id == "req_conformance"
    if failure.body is None:
        assert (caught.value.code, caught.value.param) == (failure.code, failure.param)
