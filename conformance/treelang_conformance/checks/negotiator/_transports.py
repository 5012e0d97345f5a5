"""Transports that stand in for real ones: each counts what it is asked, and says of itself what a check wants."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from treelang import ModelCapabilities, ModelRequest

MODEL, OTHER_MODEL = "oak-1", "birch-2"
"""Names that no provider has, so that no negotiator can know more of them than a transport says."""

NOTHING = ModelCapabilities()
CAPABLE = ModelCapabilities(strict_json_schema=True, temperature=True, recursive_schemas=True)


class RecordingTransport:
    """A transport without capability discovery, which keeps what it was asked and plays what it is given.

    Args:
        replies: What the requests come to, in order; an exception is raised. The last one stands for all that follow.

    Attributes:
        requests: For each request what it asked for: `json_schema`, `json_object`, or whatever stood in that place.
    """

    def __init__(self, replies: Iterable[str | BaseException] = ("{}",)) -> None:
        self.requests: list[str] = []
        self._replies = list(replies)

    def play(self, *replies: str | BaseException) -> None:
        """Begin anew with other replies."""
        self._replies = list(replies)

    # Neither is a coroutine function or a generator: what is called is counted, also where nobody ever awaits it.

    def complete(self, request: ModelRequest) -> Any:
        """Count a request, and come to the next reply."""
        return self._answer(self._next(request))

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Count a request, and yield the next reply in one chunk."""
        return self._chunks(self._next(request))

    def _next(self, request: ModelRequest) -> str | BaseException:
        self.requests.append(_output(request))
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    async def _answer(self, reply: str | BaseException) -> str:
        if isinstance(reply, BaseException):
            raise reply
        return reply

    async def _chunks(self, reply: str | BaseException) -> AsyncIterator[str]:
        yield await self._answer(reply)


class DeclaringTransport(RecordingTransport):
    """A transport that declares what each model can do; nothing of a model that it does not know.

    Args:
        declared: The capabilities by the model's name.
        replies: As of every recording transport.
    """

    def __init__(
        self, declared: Mapping[str, ModelCapabilities], replies: Iterable[str | BaseException] = ("{}",)
    ) -> None:
        super().__init__(replies)
        self._declared = declared

    def capabilities(self, model: str) -> ModelCapabilities:
        """What is declared of a model."""
        return self._declared.get(model, NOTHING)


class FailingTransport(DeclaringTransport):
    """A transport whose discovery fails as long as it has a failure.

    Attributes:
        failure: What discovery raises; `None` once it works.
    """

    failure: BaseException | None = None

    def capabilities(self, model: str) -> ModelCapabilities:
        """What is declared of a model, unless there is a failure."""
        if self.failure is not None:
            raise self.failure
        return super().capabilities(model)


def capable_transport(*replies: str | BaseException) -> DeclaringTransport:
    """A transport that can do everything with the one model, and is not known to do anything with another."""
    return DeclaringTransport({MODEL: CAPABLE}, replies or ("{}",))


def _output(request: object) -> str:
    """What a request asks for, whatever it is."""
    wanted = request.get("response_format") if isinstance(request, Mapping) else None
    return str(wanted.get("type")) if isinstance(wanted, Mapping) else repr(wanted)
