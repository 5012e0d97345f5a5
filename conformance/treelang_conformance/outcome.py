"""How one call ended, as its caller saw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treelang import ModelUsage, TreelangError
from treelang_conformance.waiting import raised_in


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one call ended, as its caller saw it.

    Attributes:
        chunks: What was yielded, in order; for `complete` the one value that was returned.
        error: What was raised, `CancelledError` included; `None` for a normal end.
        usage: What `consume_usage()` said right after the call, in the same context; `None` for a transport
            without it.
        returned: The value itself, whatever its type, that `complete` returned (`None` for a stream).
    """

    chunks: tuple[Any, ...]
    error: BaseException | None
    usage: ModelUsage | None
    returned: Any = None

    @property
    def text(self) -> str:
        """The concatenation of the chunks that are text."""
        return "".join(chunk for chunk in self.chunks if isinstance(chunk, str))

    def __str__(self) -> str:
        """What happened, as a clause of a sentence; an error is named by its type alone, for its text may be long."""
        if self.error is None:
            return f"the call ended normally with {shortened(self.chunks)}"
        after = f" after {shortened(self.chunks)}" if self.chunks else ""
        cause = self.error.__cause__
        reason = f" (caused by {type_name(cause)})" if cause is not None else ""
        return f"the call raised {type_name(self.error)}{_place(self.error)}{reason}{after}"


def _place(error: BaseException) -> str:
    """Where in the subject's own code a foreign exception was let out; what treelang's own types say is enough."""
    own = raised_in(error) if isinstance(error, Exception) and not isinstance(error, TreelangError) else ""
    return f" at {own}" if own else ""


def shortened(value: Any, limit: int = 200) -> str:
    """The `repr` of a value, cut in the middle where it is long."""
    text = repr(value)
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} ... {text[-half:]} ({len(text)} characters)"


def type_name(error: BaseException) -> str:
    """The type of an exception, with its module unless that is built in."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
