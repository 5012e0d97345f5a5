"""What all adapters over a provider's SDK share: the exchange. What remains to an adapter is its wire's mapping.

The SDK's `create` is called for its streaming response, so that URL, credentials, headers, timeouts, typed errors
and whatever a user has wrapped around `create` stay the SDK's, and the body is decoded here: every SDK lets some
faults of a body pass in silence or raw, and building a model object is most of what a chunk costs.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, Self

from treelang.errors import MissingDependencyError, ModelAuthenticationError, ModelConnectionError, ModelTimeoutError
from treelang.transports.answer import AnswerState
from treelang.transports.chunks import ChunkStream
from treelang.transports.contract import ModelCapabilities, ModelRequest, ModelUsage
from treelang.transports.error_detail import ErrorDetail
from treelang.transports.reading import StreamReader, read_completion
from treelang.transports.request import CheckedRequest, check_request
from treelang.transports.translation import ErrorTranslator, http_rules
from treelang.transports.usage import UsageLedger, UsageRecord

_DRAIN_SECONDS = 0.05
"""How long the end of a body may lag behind the terminal event for its connection to be reused (STR-15)."""


class _ResponseHead(NamedTuple):
    """Status and headers of a response whose body has not been read."""

    status_code: int
    headers: Any


class _Exchange:
    """What one call has seen of its response. Each call has its own: many may be open in one context."""

    head: _ResponseHead | None = None


# A failing response is read by the SDK, and where its body stalls nothing of the exception knows the status (ERR-16).
_opening: ContextVar[_Exchange | None] = ContextVar("treelang_opening_exchange", default=None)


async def _remember_head(response: Any) -> None:
    if (exchange := _opening.get()) is not None:
        exchange.head = _ResponseHead(response.status_code, response.headers)


class SDKTransport(ABC):
    """A transport over an asynchronous SDK client: one HTTP request a call, no retries, no redirects.

    Args:
        client: A ready SDK client, which stays its owner's to close. It is used without its retries.
        api_key: The credential, where no `client` is given; the SDK's environment variable is the default.
        base_url: Where to send requests; the provider's own address is the default.
        timeout: Seconds for connecting and for each read; the SDK's default where `None`.
        provider: Name of the deployment in errors.
        strict_json_schema: What `capabilities` says of strict output, for models that the adapter misjudges.

    Raises:
        MissingDependencyError: The SDK is not installed.
        ModelAuthenticationError: Neither a client nor a credential was given or found, and the SDK does not wait for
            the first request with that.
    """

    _sdk: ClassVar[str]
    _client_class: ClassVar[str]
    _default_provider: ClassVar[str]
    _natural_stops: ClassVar[frozenset[str]]
    _skipped_events: ClassVar[frozenset[str]] = frozenset()
    _recursive_schemas: ClassVar[bool] = False

    def __init__(
        self,
        client: Any = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        provider: str | None = None,
        strict_json_schema: bool | None = None,
    ) -> None:
        sdk = _import_sdk(self._sdk, type(self).__name__)
        self._provider = provider or self._default_provider
        self._owns_client = client is None
        self._lacks_credential = False
        self._client: Any = (
            self._build_client(sdk, api_key, base_url, timeout) if client is None else _without_retries(client)
        )
        self._strict_json_schema = strict_json_schema
        self._sdk_error: Callable[..., Exception] = sdk.APIError
        self._rules = (
            (sdk.APITimeoutError, ModelTimeoutError),
            (sdk.APIConnectionError, ModelConnectionError),
            *http_rules(),
        )
        self._ledger = UsageLedger()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(provider={self._provider!r})"

    @property
    def provider(self) -> str:
        """Name of the deployment, as in errors."""
        return self._provider

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the SDK client, unless it was passed in."""
        if self._owns_client:
            await self._client.close()

    async def complete(self, request: ModelRequest) -> str:
        """Return the whole text of the answer (CMP-1 to CMP-8).

        Raises:
            ProviderResponseError: The answer is invalid or incomplete, or one of its kinds for any other failure.
        """
        usage = self._ledger.begin()
        checked = self._check(request)
        arguments = self._arguments(checked)
        translator = self._translator(checked)
        with translator:
            async with self._create(**arguments) as response:
                translator.reported = functools.partial(self._reported, response.http_request)
                data = await response.read()
        return read_completion(
            data, functools.partial(self._read_completion, usage=usage), self._natural_stops, translator
        )

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the text of the answer as it arrives (STR-1 to STR-15). Close the iterator to end the call early.

        Raises:
            ProviderResponseError: As `complete`, after the chunks that came.
        """
        return ChunkStream(self._stream(request), self._interrupted)

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        usage = self._ledger.begin()
        checked = self._check(request)
        arguments = self._arguments(checked) | self._stream_arguments()
        translator = self._translator(checked)
        read_event = functools.partial(self._read_event, usage=usage)
        reader = StreamReader(read_event, self._natural_stops, translator, self._skipped_events)
        async with _UninterruptedClosing() as stack:
            # Only what talks to the provider stands inside the translator: what the consumer raises at a `yield`
            # is not the provider's failure (STR-14).
            with translator:
                response = await stack.enter_async_context(self._create(**arguments))
            translator.reported = functools.partial(self._reported, response.http_request)
            received = await stack.enter_async_context(contextlib.aclosing(response.iter_bytes()))
            while not reader.over:
                with translator:
                    data = await anext(received, None)
                for text in reader.feed(data) if data is not None else reader.end():
                    yield text
            reader.require_whole()
            # Where the end of the body has come already, its connection is reused, and else dropped.
            draining = asyncio.ensure_future(_drain(received))
            stack.push_async_callback(_stop, draining, response)
            await asyncio.wait([draining], timeout=_DRAIN_SECONDS)

    def _interrupted(self) -> Exception:
        return ErrorTranslator(self._provider).unusable("its stream was interrupted")

    def consume_usage(self) -> ModelUsage:
        """Return the usage of this context's last call and reset it to zero (USE-1 to USE-12)."""
        return self._ledger.consume()

    def capabilities(self, model: str) -> ModelCapabilities:
        """Return what `model` can do; an unknown one nothing (CAP-1, CAP-2)."""
        known = self._model_capabilities(model)
        strict = known.strict_json_schema if self._strict_json_schema is None else self._strict_json_schema
        return ModelCapabilities(strict, known.temperature, recursive_schemas=strict and self._recursive_schemas)

    @staticmethod
    @abstractmethod
    def _model_capabilities(model: str) -> ModelCapabilities:
        """The capabilities that are known of a model."""

    @property
    @abstractmethod
    def _create(self) -> Callable[..., contextlib.AbstractAsyncContextManager[Any]]:
        """The SDK's `create`, in the variant that leaves the response's body unread."""

    @abstractmethod
    def _arguments(self, request: CheckedRequest) -> dict[str, Any]:
        """The request in the wire's form, as keyword arguments of `create`."""

    def _stream_arguments(self) -> dict[str, Any]:
        """What a streamed request says in addition."""
        return {"stream": True}

    @abstractmethod
    def _read_completion(self, body: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        """The text of a completion's body; everything else of it goes into `answer` and `usage`."""

    @abstractmethod
    def _read_event(self, event: dict[str, Any], answer: AnswerState, usage: UsageRecord) -> str:
        """The text that one event of a stream adds; everything else of it goes into `answer` and `usage`."""

    def _build_client(self, sdk: ModuleType, api_key: str | None, base_url: str | None, timeout: float | None) -> Any:
        given = {} if timeout is None else {"timeout": timeout}
        # A redirect would carry the prompt, and on some SDK versions the key, to another origin (SEC-5).
        http_client = sdk.DefaultAsyncHttpxClient(
            verify=_tls_context(_http_library(sdk)),
            follow_redirects=False,
            event_hooks={"response": [_remember_head]},
            **given,
        )
        client_class = getattr(sdk, self._client_class)
        try:
            client: Any = client_class(
                api_key=api_key, base_url=base_url, max_retries=0, http_client=http_client, **given
            )
        except sdk.APIError.__base__ as error:
            raise self._no_credential() from error
        self._lacks_credential = not self._has_credential(client)
        return client

    @staticmethod
    def _has_credential(client: Any) -> bool:
        """Whether a client that its SDK was willing to build has what it will authenticate by."""
        return True

    def _no_credential(self) -> ModelAuthenticationError:
        return ModelAuthenticationError(
            f"{type(self).__name__} has no credential: pass api_key, or set {self._sdk.upper()}_API_KEY",
            provider=self._provider,
        )

    def _check(self, request: ModelRequest) -> CheckedRequest:
        """The request as plain values, if it can be sent."""
        if self._lacks_credential:
            raise self._no_credential()
        return check_request(request, self._provider)

    def _reported(self, request: Any, body: Any) -> Exception:
        """The exception that stands in the SDK for an error which the provider reported in-band (ERR-9)."""
        return self._sdk_error(ErrorDetail.read(body).message, request, body=body)

    def _translator(self, request: CheckedRequest) -> ErrorTranslator:
        def private() -> str:
            return f"{self._client.api_key}\n{request.contents}"

        exchange = _Exchange()
        _opening.set(exchange)
        translator = ErrorTranslator(self._provider, self._rules, strict=request.strict is not None, private=private)
        translator.response_head = lambda: exchange.head
        return translator


class _UninterruptedClosing(contextlib.AsyncExitStack):
    """Closes to its end even when cancelled meanwhile; the older httpx would leave the connection open (CAN-3)."""

    async def __aexit__(self, *failure: Any) -> bool | None:
        closing = asyncio.ensure_future(super().__aexit__(*failure))
        try:
            return await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait([closing])
            closing.exception()  # retrieved: the cancellation is what the caller is to see
            raise


async def _drain(received: AsyncIterator[bytes]) -> None:
    """Read the body to its end; the answer is whole, so nothing that happens to the rest of it matters."""
    with contextlib.suppress(Exception):
        async for _ in received:
            pass


async def _stop(draining: asyncio.Task[None], response: Any) -> None:
    # Not by cancelling it: where the end has come, it may be closing other idle connections for the pool, which
    # has forgotten them already.
    await response.close()
    await asyncio.wait([draining])


def _import_sdk(name: str, transport: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{transport} needs the {name} SDK, which is not installed: pip install 'treelang[{name}]'"
        ) from error


def _without_retries(client: Any) -> Any:
    # One call is one request (CMP-2). A copy shares the connections of the original.
    return client if client.max_retries == 0 else client.with_options(max_retries=0)


def _http_library(sdk: ModuleType) -> str:
    """The HTTP library that the SDK speaks through: httpx2, or httpx for the majors before."""
    client_class = next(base for base in sdk.DefaultAsyncHttpxClient.__mro__ if base.__name__ == "AsyncClient")
    return str(client_class.__module__.partition(".")[0])


@functools.cache
def _tls_context(http_library: str) -> Any:
    """One TLS context for all clients, as the HTTP library makes it: it is most of what building a client costs."""
    return sys.modules[http_library].create_ssl_context()
