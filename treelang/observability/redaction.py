"""What of a value may come out: JSON values without credentials and, unless it is opted in to, without content."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence, Set
from enum import Enum
from typing import Any
from urllib.parse import quote

from treelang.observability.credentials import (
    REDACTED,
    conceal_credentials,
    is_count_name,
    is_credential_name,
    words_of,
)

_DEEPEST = 64
"""What is nested deeper is not looked through, and so not shown."""

_MOST_VALUES = 10_000
_MOST_CHARACTERS = 50_000
"""What an event holds beyond that is not shown, since looking through it would hold up the call."""

_MARGIN = 1_000
"""How much more is left out where a text is cut, lest half of a credential remain that cannot be recognised."""

_SHORTEST_KNOWN = 4
_MOST_KNOWN = 32
"""A credential is looked for elsewhere in its event if it has so many characters, and is one of so many."""

_CONTENT = frozenset(
    {
        "actual",
        "answer",
        "args",
        "arguments",
        "ast",
        "body",
        "choice",
        "chunk",
        "completion",
        "content",
        "data",
        "delta",
        "description",
        "document",
        "error",
        "exception",
        "expected",
        "format",
        "history",
        "input",
        "instruction",
        "jsontree",
        "kwargs",
        "message",
        "output",
        "param",
        "parameter",
        "payload",
        "program",
        "prompt",
        "query",
        "question",
        "reply",
        "request",
        "response",
        "result",
        "schema",
        "string",
        "text",
        "tool",
        "traceback",
        "tree",
        "value",
    }
)
"""The last words, in the singular, of names under which prompts, output, arguments and results stand."""

_OWN_WORDS = frozenset({"reason"})
"""Names of attributes whose sentences are treelang's own."""

_LABEL = re.compile(r"[\w.:/+-]{1,128}")
"""Without opting in, texts that are no mere label are content, whatever their name is."""


def redact(value: Any, *, allow_content: bool = False) -> Any:
    """A copy of a value, as JSON values, that is safe to show.

    Args:
        value: Anything; objects that JSON does not have are named by their type alone.
        allow_content: Whether prompts, output, arguments and results may be shown. Credentials never are.
    """
    return Redaction(allow_content=allow_content).apply(value)


class Redaction:
    """Redacts the events of one call. A credential that one of them holds under its name is known in all later ones.

    Args:
        allow_content: Whether prompts, output, arguments and results may be shown. Credentials never are.
    """

    def __init__(self, *, allow_content: bool = False) -> None:
        self.allow_content = allow_content
        self._known: dict[str, None] = {}
        self._values_left = 0
        self._characters_left = 0

    def attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of an event's attributes that is safe to show; the attributes have no content for a name."""
        shown = self.apply(given)
        return shown if isinstance(shown, dict) else {}

    def apply(self, value: Any) -> Any:
        """A copy of a value that is safe to show. It never raises, whatever the value is."""
        self._values_left = _MOST_VALUES
        self._characters_left = _MOST_CHARACTERS
        shown = self._show(value, 0)
        return _replace(shown, self._known_forms()) if self._known else shown

    def _show(self, value: Any, depth: int) -> Any:
        self._values_left -= 1
        if depth > _DEEPEST or self._values_left < 0:
            return REDACTED
        try:
            return self._show_kind(value, depth)
        except Exception:  # of a value that misbehaves when it is read
            return REDACTED

    def _show_kind(self, value: Any, depth: int) -> Any:
        match value:
            case None | bool():
                return value
            case Enum():
                return self._show(value.value, depth + 1)
            case int():
                return int(value) if value.bit_length() < 1024 else REDACTED
            case float():
                return float(value) if math.isfinite(value) else str(float(value))
            case str():
                return self._show_text(str.__str__(value), depth)
            case bytes() | bytearray() | memoryview():
                return f"<{len(value)} bytes>"
            case Mapping():
                return self._show_mapping(value, depth)
            case Sequence() | Set():
                return self._show_items(value, depth)
        return f"<{self._show_text(type(value).__name__, depth)}>"

    def _show_mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        # Headers and variables are often listed as `{"name": "Authorization", "value": ...}`.
        title = next((value[key] for key in ("name", "key", "header") if isinstance(value.get(key), str)), "")
        is_titled = is_credential_name(title)
        shown: dict[str, Any] = {}
        for key, item in value.items():
            if self._values_left < 0:
                break
            name = _name(key)
            governing = title if is_titled and name.lower() in ("value", "content", "default") else name
            shown[self._show_text(name, _DEEPEST)] = self._show_named(governing, item, depth + 1)
        return shown

    def _show_items(self, value: Collection[Any], depth: int) -> list[Any]:
        # Headers and variables are often pairs: `("Authorization", ...)`.
        match value:
            case [str() | bytes() as first, second] if is_credential_name(_name(first)):
                return [self._show(first, depth + 1), self._show_named(_name(first), second, depth + 1)]
        shown: list[Any] = []
        for item in value:
            if self._values_left < 0:
                break
            shown.append(self._show(item, depth + 1))
        return shown

    def _show_named(self, name: str, value: Any, depth: int) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_credential_name(name) and not (is_number and is_count_name(name)):
            self._remember(value, depth)
            return None if value is None else REDACTED
        if not self.allow_content and _is_content_name(name):
            return None if value is None else REDACTED
        if isinstance(value, str) and depth == 1 and name in _OWN_WORDS:
            return self._conceal(str.__str__(value)[:_MARGIN])
        return self._show(value, depth)

    def _show_text(self, text: str, depth: int) -> str:
        if not self.allow_content and not _LABEL.fullmatch(text):
            return REDACTED if text else text
        length = len(text)
        if length > self._characters_left:
            return f"{self._conceal(text[: self._characters_left])[:-_MARGIN]}... ({length} characters)"
        if depth < _DEEPEST and text.lstrip()[:1] in ("{", "[", '"'):
            try:
                parsed = json.loads(text)
            except (ValueError, RecursionError):
                parsed = None
            if parsed is not None and (shown := self._show(parsed, depth + 1)) != parsed:
                return json.dumps(shown)
        return self._conceal(text)

    def _conceal(self, text: str) -> str:
        self._characters_left -= len(text)
        # Halves of surrogate pairs can be encoded by no exporter.
        return conceal_credentials(text).encode(errors="replace").decode()

    def _remember(self, value: Any, depth: int) -> None:
        """Know a credential again that was found under its name, wherever else it is told."""
        if depth > _DEEPEST or len(self._known) >= _MOST_KNOWN:
            return
        match value:
            case str() if len(value) >= _SHORTEST_KNOWN:
                self._known[str.__str__(value)] = None
            case int() if not isinstance(value, bool) and value.bit_length() < 1024:
                self._remember(str(int(value)), depth)
            case Mapping():
                for key, item in value.items():
                    if is_credential_name(_name(key)):
                        self._remember(item, depth + 1)
            case list() | tuple() | Set():
                for item in value:
                    self._remember(item, depth + 1)

    def _known_forms(self) -> list[str]:
        """The known credentials as they are, and as they stand in `repr`, JSON and URLs, longest first."""
        forms = {form for known in self._known for form in (known, repr(known)[1:-1], json.dumps(known)[1:-1])}
        forms |= {quote(known.encode(errors="replace"), safe="") for known in self._known}
        return sorted(forms, key=len, reverse=True)


def _replace(shown: Any, known: list[str]) -> Any:
    match shown:
        case str():
            for form in known:
                shown = shown.replace(form, REDACTED)
            return shown
        case int() | float() if not isinstance(shown, bool) and str(shown) in known:
            return REDACTED
        case dict():
            return {_replace(name, known): _replace(item, known) for name, item in shown.items()}
        case list():
            return [_replace(item, known) for item in shown]
    return shown


def _name(key: Any) -> str:
    """A key of a mapping as the name that it is in JSON."""
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, bytes):
        return key.decode("latin-1")
    return str(key) if isinstance(key, int | float) or key is None else f"<{type(key).__name__}>"


@functools.lru_cache(maxsize=1024)
def _is_content_name(name: str) -> bool:
    last = words_of(name).strip("_").rpartition("_")[2]
    return last in _CONTENT or last.removesuffix("s") in _CONTENT or last.removesuffix("es") in _CONTENT
