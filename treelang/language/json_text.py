"""JSON text to values: Python's decoder where it says yes, a careful one that finds the place where it says no.

The careful decoder keeps its own stack, so that text nested deeper than Python's recursion limit is read as well, and
it names the place of a defect as a JSON pointer.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from treelang.errors import ASTValidationError
from treelang.language.json_value import MAX_VALUE_DEPTH
from treelang.language.node import MAX_DEPTH
from treelang.language.pointer import Path, pointer

MAX_TEXT_DEPTH = 2 * MAX_DEPTH + MAX_VALUE_DEPTH
"""A node nested in another is an object, often in an array."""


def decode(text: str) -> Any:
    """The value that a JSON text holds.

    Raises:
        ASTValidationError: It is no JSON, or nested without end.
    """
    try:
        return _decoder.decode(text)
    except (ValueError, RecursionError):
        return _CarefulDecoder(text).value()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON's")


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"an integer of {len(text)} digits, where at most 4300 can be read") from None


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
_explaining_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer)
_space = re.compile(r"[ \t\n\r]*")
_OPENED: Any = object()
"""What is read of a container whose entries are still to come."""


class _CarefulDecoder:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.open: list[tuple[Any, Any]] = []
        """The arrays and objects around the position, each with the index or key whose value is being read."""

    def value(self) -> Any:
        while True:
            value = self._begin()
            if value is _OPENED:
                continue
            while self.open:
                container, key = self.open[-1]
                if isinstance(container, list):
                    container.append(value)
                else:
                    container[key] = value
                if self._next_entry():
                    break
                value = self.open.pop()[0]
            else:
                if self._next():
                    self._fail("there is more text after the program")
                return value

    def _begin(self) -> Any:
        """Read a scalar or an empty container, or open a container up to its first entry's value."""
        character = self._next()
        if character not in ("[", "{"):
            return self._scalar()
        container: Any = [] if character == "[" else {}
        self.position += 1
        if self._next() == ("]" if character == "[" else "}"):
            self.position += 1
            return container
        if len(self.open) == MAX_TEXT_DEPTH:
            self._fail(f"it is nested deeper than {MAX_TEXT_DEPTH} levels; divide the program")
        self.open.append((container, 0 if character == "[" else None))
        if character == "{":
            self._key()
        return _OPENED

    def _next_entry(self) -> bool:
        """Whether another entry follows in the innermost container; its end is read otherwise."""
        container = self.open[-1][0]
        is_array = isinstance(container, list)
        character = self._next()
        if character == ",":
            self.position += 1
            if is_array:
                self.open[-1] = (container, len(container))
            else:
                self._key()
            return True
        if character != ("]" if is_array else "}"):
            self._fail(f"a comma is missing, or the end of the {'array' if is_array else 'object'}")
        self.position += 1
        return False

    def _key(self) -> None:
        if self._next() != '"':
            self._fail("a key in double quotes is missing")
        self.open[-1] = (self.open[-1][0], self._scalar())
        if self._next() != ":":
            self._fail("a colon is missing after the key")
        self.position += 1

    def _scalar(self) -> Any:
        try:
            value, self.position = _explaining_decoder.raw_decode(self.text, self.position)
        except json.JSONDecodeError as error:
            self.position = error.pos
            if error.msg == "Expecting value":
                self._fail("a value is missing")
            self._fail("a text is not closed here, or has a control character or a wrong escape")
        except ValueError as error:
            self._fail(str(error))
        return value

    def _next(self) -> str:
        """The character at the position, after white space; `""` at the end."""
        match = _space.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.text[self.position : self.position + 1]

    def _fail(self, reason: str) -> NoReturn:
        line = self.text.count("\n", 0, self.position) + 1
        column = self.position - self.text.rfind("\n", 0, self.position)
        path: Path = None
        for _, key in self.open:
            path = (path, key) if key is not None else path
        raise ASTValidationError(
            f"the program is no valid JSON, line {line} column {column}: {reason}", pointer=pointer(path)
        ) from None
