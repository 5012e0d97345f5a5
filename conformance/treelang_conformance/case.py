"""What a check is given: a scripted provider, the subject's transport on it, and words for what was expected.

(INTERFACE SKETCH: signatures are agreed; bodies belong to the owner of the runner.)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from treelang import ModelTransport, ModelUsage
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.neutral import Answer, ReadRequest
from treelang_conformance.provider.script import Script, Step
from treelang_conformance.registry import Mode
from treelang_conformance.wires.base import Wire


class Violation(AssertionError):
    """The subject breaks the clause: what was expected, what happened instead, and why that usually is."""

    expected: str
    happened: str
    hint: str


class NotApplicable(Exception):
    """The wire or the subject has nothing that this check could judge; the reason is shown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one call ended, as its caller saw it.

    Attributes:
        chunks: What was yielded, in order; for `complete` the one text that was returned.
        error: What was raised, `CancelledError` included; `None` for a normal end.
        usage: What `consume_usage()` said right after the call, in the same context; `None` for a transport
            without it.
        returned: The value itself, whatever its type, that `complete` returned (None for a stream).
    """

    chunks: tuple[Any, ...]
    error: BaseException | None
    usage: ModelUsage | None
    returned: Any = None

    @property
    def text(self) -> str:
        """The concatenation of the chunks."""
        return "".join(self.chunks)


class Case:
    """One check's surroundings. `case.mode` says whether `call` uses `complete` or `stream`."""

    wire: Wire
    mode: Mode
    provider: Provider  # noqa: F821  # see provider/server.py: reply(), requests, connections, waits

    # --- requests and answers ---
    def request(self, **changes: Any) -> dict[str, Any]:
        """A sound request in the chat form (system and user text with canaries); `changes` replace or add keys."""
        ...

    def strict_request(self, **changes: Any) -> dict[str, Any]:
        """`request` with a `json_schema` response format."""
        ...

    def read(self, index: int = -1) -> ReadRequest:
        """The request number `index` that the provider received, translated by the wire."""
        ...

    def answers(self, *replies: Answer | Script) -> None:
        """Queue replies: an `Answer` is put into this mode's form (completion or whole event stream)."""
        ...

    def event_stream(self, answer: Answer) -> Script:
        """The answer as a stream, whatever the mode."""
        ...

    # --- the subject ---
    async def transport(self, **changes: Any) -> ModelTransport:
        """The subject's transport on this case's provider, made at the first use and then the same one.
        With `changes` (`timeout`, `url`, `api_key`, `model`) or `fresh=True`: another one, made for them."""
        ...

    async def call(self, request: Any = None, *, transport: ModelTransport | None = None) -> Outcome:
        """Make one call in this mode and consume it whole; exceptions are in the outcome, hangs are violations."""
        ...

    # --- judging ---
    def require(self, condition: object, *, expected: str, happened: str, hint: str = "") -> None:
        """Raise `Violation` unless `condition` holds."""
        ...

    def require_text(self, outcome: Outcome, text: str) -> None:
        """The call ended normally with exactly `text`."""
        ...

    def require_error(self, outcome: Outcome, kind: type[BaseException], *, exactly: bool = False) -> BaseException:
        """The call raised `kind` (with `exactly` no subclass of it) and return what it raised."""
        ...

    async def within(self, awaitable: Any, what: str, seconds: float = 1.0) -> Any:
        """Await something of the provider's (a gate, a request, a release); late is a violation that says `what`."""
        ...

    def not_applicable(self, reason: str) -> NoReturn:
        """End the check as not applicable."""
        ...
