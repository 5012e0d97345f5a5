"""What a JSON value is here, and copies that share nothing with what was given.

Stricter than Python's own idea, so that every value can be written as JSON text and read again: no NaN or infinity, no
lone surrogates, no integer that Python itself refuses to write, no nesting without end.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from treelang.language.pointer import Path, pointer

MAX_VALUE_DEPTH = 500
"""How deep arrays and objects may be nested in one value; a value that contains itself is deeper than that."""

_HIGHEST, _LOWEST = 10**4300 - 1, 1 - 10**4300
"""Python converts no integer of more digits to text and back (`sys.get_int_max_str_digits`)."""


class NotJSONError(ValueError):
    """A value that is no JSON value.

    Attributes:
        pointer: Where in the value.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.pointer = pointer(path)


def copy_json(value: Any) -> Any:
    """A copy of a JSON value, in JSON's own types: tuples become arrays, and a subclass of a type that type.

    Raises:
        NotJSONError: It is no JSON value.
    """
    kind = type(value)
    if kind is bool or value is None or (kind is str and value.isascii()):
        return value
    if (kind is int and _LOWEST <= value <= _HIGHEST) or (kind is float and -inf < value < inf):
        return value
    return _copied(value)


def _copied(value: object) -> Any:
    holder = [value]
    pending: list[tuple[Any, Path, int]] = [(holder, None, 0)]
    while pending:
        container, path, depth = pending.pop()
        for key, item in container.items() if type(container) is dict else enumerate(container):
            kind = type(item)
            if kind is str:
                if item.isascii() or _is_unicode(item):
                    continue
                reason = "a text with a lone surrogate, which is no Unicode"
            elif kind is int:
                if _LOWEST <= item <= _HIGHEST:
                    continue
                reason = "an integer of more than 4300 digits"
            elif kind is float:
                if -inf < item < inf:
                    continue
                reason = "a number that is not finite"
            elif kind is bool or item is None:
                continue
            elif isinstance(item, list | tuple | Mapping):
                if depth == MAX_VALUE_DEPTH:
                    reason = f"nested deeper than {MAX_VALUE_DEPTH} levels, or within itself"
                elif isinstance(item, Mapping) and not all(map(_is_key, item)):
                    reason = "an object with a key that is no Unicode text"
                else:
                    container[key] = _shallow_copy(item)
                    pending.append((container[key], None if container is holder else (path, key), depth + 1))
                    continue
            elif isinstance(item, str | int | float):
                container[key] = copy_json(_without_subclass(item))
                continue
            else:
                reason = f"of the type {kind.__name__}, which is none of JSON's"
            raise NotJSONError(None if container is holder else (path, key), reason)
    return holder[0]


def _is_key(key: object) -> bool:
    return isinstance(key, str) and (key.isascii() or _is_unicode(key))


def _shallow_copy(item: list[Any] | tuple[Any, ...] | Mapping[str, Any]) -> dict[str, Any] | list[Any]:
    if not isinstance(item, Mapping):
        return list(item)
    if all(type(key) is str for key in item):
        return dict(item)
    return {str.__str__(key): value for key, value in item.items()}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_subclass(value: str | int | float) -> str | int | float:
    if isinstance(value, str):
        return str.__str__(value)  # what an enumeration's member is, and not how it shows itself
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)


def kind_of(value: object) -> str:
    """The JSON type of a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "an array"
        case Mapping():
            return "an object"
    return f"a {type(value).__name__}"
