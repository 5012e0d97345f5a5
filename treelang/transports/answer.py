"""What is known of an answer so far, and whether it is a whole one (CMP-7, CMP-8, STR-5, STR-6)."""

from __future__ import annotations

import json
from typing import Any


class AnswerState:
    """Collected from a completion's body or from a stream's events, judged at the end.

    Attributes:
        malformed: What makes the answer unreadable, in our own words; `None` while nothing does.
        failure: The error that the provider reports in the answer's place; `None` while it reports none.
        finish: The provider's own word for why the answer ended; `None` until it gave one.
        completed: Whether the provider's sign of completion came.
        calls_tool: Whether the answer calls one of the caller's tools.
        refused: Whether the model refused in the wire's own form.
        has_text: Whether any text came.
        over: Whether the provider's terminal event came, after which nothing counts (STR-15).
    """

    __slots__ = (
        "_held",
        "calls_tool",
        "completed",
        "failure",
        "finish",
        "has_text",
        "malformed",
        "over",
        "refused",
    )

    def __init__(self) -> None:
        self.malformed: str | None = None
        self.failure: Any = None
        self.finish: str | None = None
        self.completed = False
        self.calls_tool = False
        self.refused = False
        self.has_text = False
        self.over = False
        self._held = ""

    def add_text(self, text: str) -> str:
        """Take a piece of text and return what can be yielded: a high surrogate waits for its other half."""
        self.has_text = self.has_text or bool(text)
        try:
            text.encode()
        except UnicodeEncodeError:
            text = _join_surrogates(self._held + text)
            self._held = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
            return text.removesuffix(self._held) if self._held else text
        if self._held:
            text, self._held = self._held + text, ""
        return text

    def end_text(self) -> str:
        """Return what was held back for a half that never came."""
        held, self._held = self._held, ""
        return held

    def fault(self, natural: frozenset[str]) -> str | None:
        """Say in our own words why this is no whole text answer, or return `None` where it is one."""
        if self.malformed is not None:
            return self.malformed
        if self.calls_tool:
            return "it calls a tool"
        if self.refused:
            return "the model refused"
        if not self.completed:
            return "it ended without the provider's sign of completion"
        if self.finish not in natural:
            return "it stopped before its natural end"
        if not self.has_text:
            return "it holds no text"
        return None


def _join_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def decode_json(data: bytes) -> Any:
    """Decode UTF-8 JSON; `ValueError` is all that can leave, however odd the data."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("nested too deep") from None


def texts_of(content: Any) -> str | None:
    """The text of a content that is a text or a list of parts; `None` where it is neither.

    Parts of other types (thinking, references) are left out.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        if all(isinstance(part.get("text"), str) for part in parts):
            return "".join(part["text"] for part in parts)
    return None
