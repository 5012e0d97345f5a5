"""What a check is given: a scripted provider, the subject's transport on it, and words for what was expected."""

from __future__ import annotations

import dataclasses
from typing import Any

from treelang import ModelTransport, ModelUsage, TreelangError
from treelang_conformance import canaries
from treelang_conformance.cases.judge import Judge, Surroundings
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.neutral import Answer, ReadRequest
from treelang_conformance.outcome import Outcome, shortened, type_name
from treelang_conformance.provider.script import EVENT_STREAM, Reply, Script, Send
from treelang_conformance.registry import Mode
from treelang_conformance.subject import Subject
from treelang_conformance.violation import Violation

CLIENT_TIMEOUT = 5.0
"""Seconds that a client is told to wait where a check does not ask for less: beyond every bound of the kit."""


class Case(Judge):
    """The surroundings of one check of a transport.

    Attributes:
        wire: The protocol that the subject speaks.
        mode: Whether `call` uses `complete` or `stream`; `complete` in a check that is registered without modes.
        subject: What is under test.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        assert surroundings.wire is not None, "transports speak a protocol"  # noqa: S101  # a defect of the kit
        self.subject: Subject = surroundings.subject
        self.wire = surroundings.wire
        self.mode = surroundings.mode
        self._transport: ModelTransport | None = None
        self._made: list[ModelTransport] = []

    # --- requests and answers ---

    def request(self, **changes: Any) -> dict[str, Any]:
        """A sound request in the chat form (system and user text with canaries); `changes` replace or add keys."""
        sound = {
            "model": self.wire.model,
            "messages": [
                {"role": "system", "content": f"Answer in one sentence. {canaries.SYSTEM_TEXT}"},
                {"role": "user", "content": f"Which tree is the tallest? {canaries.USER_TEXT}"},
            ],
        }
        return {**sound, **changes}

    def strict_request(self, **changes: Any) -> dict[str, Any]:
        """`request` with a `json_schema` response format."""
        schema = {
            "type": "object",
            "properties": {"tree": {"type": "string"}, canaries.SCHEMA_TEXT: {"type": "integer"}},
            "required": ["tree", canaries.SCHEMA_TEXT],
            "additionalProperties": False,
        }
        strict = {
            "type": "json_schema",
            "json_schema": {"name": "tallest_tree", "strict": True, "schema": schema},
        }
        return self.request(**{"response_format": strict, **changes})

    def read(self, index: int = -1) -> ReadRequest:
        """The request number `index` that the provider received, translated by the wire."""
        try:
            received = self.provider.requests[index]
        except IndexError:
            raise Violation(
                expected="a request at the provider", happened=f"it received {len(self.provider.requests)}"
            ) from None
        try:
            return self.wire.read(received)
        except ValueError as error:
            raise Violation(expected=f"a request of the {self.wire.name} wire", happened=f"{error}") from error

    def answers(self, *replies: Answer | Script) -> None:
        """Queue replies: an `Answer` is put into this mode's form (completion or whole event stream)."""
        self.provider.reply(*(self.script(reply) for reply in replies))

    def event_stream(self, answer: Answer) -> Script:
        """The answer as a stream, whatever the mode."""
        return self._labelled(Reply.event_stream(*(Send(event.data) for event in self.wire.events(answer))))

    def _labelled(self, script: Script) -> Script:
        """A script under the content type that streams of the wire have; checks say `text/event-stream` for all."""
        if isinstance(script, Reply) and script.headers.get("content-type") == EVENT_STREAM:
            return dataclasses.replace(script, headers={**script.headers, "content-type": self.wire.stream_type})
        return script

    def script(self, reply: Answer | Script) -> Script:
        """A reply as the provider plays it: an `Answer` in this mode's form, a script under the wire's labels."""
        if not isinstance(reply, Answer):
            return self._labelled(reply)
        return self.event_stream(reply) if self.mode is Mode.STREAM else self.wire.completion(reply)

    # --- the subject ---

    async def transport(self, *, fresh: bool = False, **changes: Any) -> ModelTransport:
        """The subject's transport on this case's provider, made at the first use and then the same one.

        Args:
            fresh: Make another one all the same.
            changes: Other values of the endpoint (`timeout`, `url`, `api_key`, `model`): another one, made for them.
        """
        if changes or fresh:
            return await self._make(changes)
        if self._transport is None:
            self._transport = await self._make({})
        return self._transport

    def endpoint(self, **changes: Any) -> Endpoint:
        """Where the subject is told to send its requests."""
        sound = Endpoint(
            url=self.provider.url + self.wire.base_path,
            api_key=canaries.API_KEY,
            timeout=CLIENT_TIMEOUT,
            wire=self.wire.name,
            model=self.wire.model,
        )
        return dataclasses.replace(sound, **changes)

    async def _make(self, changes: dict[str, Any]) -> ModelTransport:
        endpoint = self.endpoint(**changes)
        with self.succeeding("making the transport", expected="the factory to make a transport"):
            transport = await self.subject.build(endpoint)
        self._made.append(transport)
        return transport

    async def call(
        self, request: Any = None, *, transport: ModelTransport | None = None, mode: Mode | None = None
    ) -> Outcome:
        """Make one call and consume it whole; whatever it raises is in the outcome, a hang is a violation.

        Args:
            request: What to send; the default is `request()`.
            transport: Who sends it; the default is `transport()`.
            mode: How; the default is this case's mode.
        """
        transport = transport or await self.transport()
        mode = mode or self.mode
        chunks: list[Any] = []
        returned: Any = None
        caught: BaseException | None = None
        with self.bounded("a call"):
            try:
                await self.invoke(request, transport=transport, mode=mode, into=chunks)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # CancelledError and foreign kinds are results here
                caught = error
        if mode is Mode.COMPLETE and chunks:
            returned = chunks[0]
        return Outcome(tuple(chunks), caught, self.usage(transport), returned)

    async def invoke(
        self,
        request: Any = None,
        *,
        transport: ModelTransport | None = None,
        mode: Mode | None = None,
        into: list[Any] | None = None,
    ) -> list[Any]:
        """Make one call and consume it whole; what it raises passes, and nothing bounds it.

        For calls that a check puts into tasks or under deadlines of its own.

        Args:
            request: What to send; the default is `request()`.
            transport: Who sends it; the default is `transport()`.
            mode: How; the default is this case's mode.
            into: A list that is filled as chunks arrive, and returned.
        """
        request = self.request() if request is None else request
        transport = transport or await self.transport()
        chunks: list[Any] = [] if into is None else into
        if (mode or self.mode) is Mode.COMPLETE:
            chunks.append(await transport.complete(request))
        else:
            async for chunk in transport.stream(request):
                chunks.append(chunk)  # noqa: PERF401  # a comprehension would lose what came before a failure
        return chunks

    def usage(self, transport: ModelTransport) -> ModelUsage | None:
        """What `consume_usage()` says in the current context; `None` for a transport without it."""
        consume = getattr(transport, "consume_usage", None)
        if not callable(consume):
            return None
        try:
            usage: ModelUsage = consume()
        except Exception as error:
            raise Violation(
                expected="consume_usage() to return a ModelUsage", happened=f"it raised {type_name(error)}"
            ) from error
        return usage

    # --- judging ---

    def require_text(self, outcome: Outcome, text: str) -> None:
        """The call ended normally with exactly `text`."""
        if outcome.error is not None or any(not isinstance(chunk, str) for chunk in outcome.chunks):
            raise Violation(expected=f"the text {shortened(text)}", happened=str(outcome)) from outcome.error
        self.require(
            outcome.text == text,
            expected=f"the text {shortened(text)}",
            happened=f"the call ended normally with the text {shortened(outcome.text)}",
        )

    def require_error(self, outcome: Outcome, kind: type[BaseException], *, exactly: bool = False) -> BaseException:
        """The call raised `kind` (with `exactly` no subclass of it); return what it raised."""
        error = outcome.error
        fits = type(error) is kind if exactly else isinstance(error, kind)
        if error is None or not fits:
            name = f"exactly {kind.__name__}" if exactly else kind.__name__
            raise Violation(expected=name, happened=str(outcome), hint=_hint(error, kind)) from error
        return error

    # --- the runner's side ---

    async def close(self) -> None:
        """Close every transport that was made."""
        while self._made:
            transport = self._made.pop()
            with self.succeeding("closing the transport", expected="the transport to close"):
                await self.subject.dispose(transport)


def _hint(error: BaseException | None, due: type[BaseException]) -> str:
    """What mends a foreign exception where one of treelang's is due; the check's own hint says it for all else."""
    if isinstance(error, Exception) and not isinstance(error, TreelangError) and issubclass(due, TreelangError):
        return (
            f"{type_name(error)} left the transport as it was raised. Translate what the library raises, in sending the"
            " request and in reading the body: `with ErrorTranslator(provider, http_rules())` around both."
        )
    return ""
