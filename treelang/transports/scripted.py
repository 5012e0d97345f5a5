"""A transport for applications' own tests: it plays what it is given, and keeps the contract while it does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from treelang.transports.contract import ModelCapabilities, ModelRequest, ModelUsage
from treelang.transports.request import CheckedRequest, check_request
from treelang.transports.usage import UsageLedger


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One answer: its chunks, what it cost, and the error that it ends in, if any."""

    chunks: tuple[str, ...] = ()
    usage: ModelUsage = field(default_factory=ModelUsage)
    error: Exception | None = None


ScriptStep: TypeAlias = str | Exception | ScriptedReply
"""A text is an answer of one chunk; an exception is raised in an answer's place."""


class ScriptedTransport:
    """Plays one step of `script` for each call, in order, and keeps the requests it was sent.

    Args:
        script: The answers. A call beyond the last raises `AssertionError`, since the test expected none.
        capabilities: What every model is said to be capable of.
        provider: Name in the errors of malformed requests.
    """

    def __init__(
        self,
        script: Iterable[ScriptStep],
        *,
        capabilities: ModelCapabilities = ModelCapabilities(),  # noqa: B008  # frozen
        provider: str = "scripted",
    ) -> None:
        self._script = iter(script)
        self._capabilities = capabilities
        self._provider = provider
        self._ledger = UsageLedger()
        self.requests: list[CheckedRequest] = []
        """The requests received so far, as plain values that share nothing with the caller's."""

    def __repr__(self) -> str:
        return f"ScriptedTransport(provider={self._provider!r}, requests={len(self.requests)})"

    @property
    def provider(self) -> str:
        """Name of the deployment, as in errors."""
        return self._provider

    async def complete(self, request: ModelRequest) -> str:
        """Return the text of the next step, or raise its error."""
        return "".join([chunk async for chunk in self._play(request)])

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Yield the chunks of the next step, then raise its error, if any."""
        return self._play(request)

    async def _play(self, request: ModelRequest) -> AsyncIterator[str]:
        record = self._ledger.begin()
        self.requests.append(check_request(request, self._provider))
        reply = _as_reply(next(self._script, None))
        if reply.usage.reported:
            record.report(reply.usage.prompt_tokens, reply.usage.completion_tokens)
        for chunk in filter(None, reply.chunks):
            yield chunk
        if reply.error is not None:
            raise reply.error

    def consume_usage(self) -> ModelUsage:
        """Return the usage of this context's last call and reset it to zero."""
        return self._ledger.consume()

    def capabilities(self, model: str) -> ModelCapabilities:
        """Return the capabilities that the script's author declared, for every model."""
        return self._capabilities


def _as_reply(step: ScriptStep | None) -> ScriptedReply:
    if step is None:
        raise AssertionError("ScriptedTransport was called more often than its script has steps")
    if isinstance(step, str):
        return ScriptedReply((step,))
    return ScriptedReply(error=step) if isinstance(step, Exception) else step
